import { isDeepStrictEqual } from 'node:util';
import { readSse } from '@trunkline/http';
import { encodePrincipal, principalHeader } from '@trunkline/identity';
import { JsonServer, type ModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Json, TestSwitchboard } from '../fixtures/start-switchboard.ts';

const patient = { timeoutMs: 60_000 };
const limitMs = 240_000;

interface SharingBoards {
  /** Two on one bus. */
  boards: () => readonly TestSwitchboard[];
  model: () => ModelServer;
  serviceToken: string;
}

/** What one of two switchboards has begun is seen, followed and ended at the other, by whom it belongs to. */
export function describeSharedTasks({ boards, model, serviceToken }: SharingBoards): void {
  const at = (index: number) => boards()[index] as TestSwitchboard;
  const onEach = (read: (board: TestSwitchboard) => Promise<Json>) => Promise.all(boards().map(read));
  const as = (id: string) => ({
    authorization: `Bearer ${serviceToken}`,
    [principalHeader]: encodePrincipal({ kind: 'person', id: `voice:${id}`, via: ['voice'] }),
  });
  const rpc = async (board: TestSwitchboard, method: string, params: Json, who = 'ava'): Promise<Json> =>
    (await board.call('/a2a', { jsonrpc: '2.0', id: 1, method, params }, as(who))).body;
  const send = async (board: TestSwitchboard, text: string, more: Json = {}): Promise<Json> => {
    const message = {
      messageId: crypto.randomUUID(),
      role: 'user',
      parts: [{ kind: 'text', text }],
      ...more,
    };
    return (await rpc(board, 'message/send', { message, configuration: { blocking: false } })).result;
  };
  const everywhere = (id: string, state: string) =>
    waitFor(async () => {
      const [one, other] = await onEach(async (board) => (await rpc(board, 'tasks/get', { id })).result);
      return isDeepStrictEqual(one, other) && one?.status.state === state ? (one as Json) : undefined;
    }, patient);
  /** Begins work that holds at the model; a task is at work before the model is asked. */
  const stalled = async <Begun>(begin: () => Promise<Begun>): Promise<Begun> => {
    const before = model().chats().length;
    model().enqueue({ fault: 'stall', text: 'One, ', answer: 'two.' });
    const begun = await begin();
    await waitFor(() => model().chats().length > before, patient);
    return begun;
  };
  const hook = new JsonServer();
  beforeAll(async () => {
    hook.on('POST /hook', () => ({}));
    await hook.listen();
  });
  afterAll(() => hook.stop());
  const toldOf = (id: string, state: string) =>
    hook.requests.filter(({ body }) => (body as Json).taskId === id && (body as Json).status.state === state);
  // What a test queued and nobody asked for would answer the next one.
  beforeEach(() => model().forget());
  const both = [
    [0, 1],
    [1, 0],
  ] as const;

  it.each(both)(
    'whose end is seen by whoever follows at another (%i, %i)',
    async (from, to) => {
      const [runner, other] = [at(from), at(to)];
      const { id } = await stalled(() => send(runner, 'Count'));
      await everywhere(id, 'working');
      for (const method of ['tasks/get', 'tasks/cancel', 'tasks/resubscribe'])
        expect((await rpc(other, method, { id }, 'bob')).error.code).toBe(-32_001);
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { id } });
      const stream = await other.fetch('/a2a', { method: 'POST', body, headers: as('ava') });
      model().release();
      const events: Json[] = [];
      for await (const { data } of readSse(stream.body as NonNullable<typeof stream.body>))
        events.push(JSON.parse(data).result);
      expect(events.at(-1)).toMatchObject({ final: true, status: { state: 'completed' } });
      const done = await everywhere(id, 'completed');
      expect(done.artifacts[0].parts[0].text).toBe('One, two.');
      const lists = await onEach(
        async (board) => (await rpc(board, 'tasks/list', { contextId: done.contextId })).result.tasks,
      );
      for (const list of lists) expect(list.map((task: Json) => task.id)).toEqual([id]);
    },
    limitMs,
  );

  it.each(both)(
    'that end, and their work with them, when they are cancelled (%i, %i)',
    async (from, to) => {
      const [runner, other] = [at(from), at(to)];
      const { id } = await stalled(() => send(runner, 'Count'));
      await everywhere(id, 'working');
      const canceled = await rpc(other, 'tasks/cancel', { id });
      expect(canceled.result.status.state).toBe('canceled');
      await everywhere(id, 'canceled');
      await waitFor(async () =>
        (await onEach((board) => board.call(`/api/flows/skill-${id}`))).every(
          ({ body }: Json) => body.data?.status === 'complete',
        ),
      );
      model().release();
      await everywhere(id, 'canceled');
    },
    limitMs,
  );

  it.each(both)(
    'whose webhook is known at each, and told the end once by whoever ends them (%i, %i)',
    async (from, to) => {
      const [runner, other] = [at(from), at(to)];
      const url = `${hook.url}/hook`;
      const begin = async () => {
        const { id } = await stalled(() => send(runner, 'Count'));
        await everywhere(id, 'working');
        const given = { taskId: id, pushNotificationConfig: { url, token: 'kept' } };
        await rpc(other, 'tasks/pushNotificationConfig/set', given);
        const known = () => rpc(runner, 'tasks/pushNotificationConfig/get', { id });
        await waitFor(async () => (await known()).result?.pushNotificationConfig.url === url, patient);
        return id;
      };
      const first = await begin();
      await rpc(other, 'tasks/cancel', { id: first });
      await waitFor(() => toldOf(first, 'canceled').length > 0, patient);
      const second = await begin();
      model().release();
      await waitFor(() => toldOf(second, 'completed').length > 0, patient);
      await everywhere(second, 'completed');
      const late = { taskId: second, pushNotificationConfig: { id: 'late', url } };
      await rpc(other, 'tasks/pushNotificationConfig/set', late);
      await waitFor(() => toldOf(second, 'completed').length > 1, patient);
      await rpc(other, 'tasks/pushNotificationConfig/delete', { id: second });
      const left = async () =>
        (await rpc(runner, 'tasks/pushNotificationConfig/list', { id: second })).result;
      await waitFor(async () => (await left()).length === 0, patient);
      expect(toldOf(first, 'canceled')).toHaveLength(1);
      expect(toldOf(first, 'canceled')[0]?.headers.authorization).toBe('Bearer kept');
      expect(toldOf(second, 'completed')).toHaveLength(2);
    },
    limitMs,
  );

  it.each(both)(
    'whose question is answered at another (%i, %i)',
    async (from, to) => {
      const [runner, other] = [at(from), at(to)];
      model().enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which sea?' } }] }, 'Aye.');
      const { id } = await send(runner, 'Sail');
      const asked = await everywhere(id, 'input-required');
      expect(asked.status.message.parts[0].text).toBe('Which sea?');
      await send(other, 'The northern one', { taskId: id, contextId: asked.contextId });
      const done = await everywhere(id, 'completed');
      expect(done.artifacts[0].parts[0].text).toBe('Aye.');
      expect(JSON.stringify(model().chats().at(-1)?.messages)).toContain('The northern one');
    },
    limitMs,
  );

  const respond = async (board: TestSwitchboard, body: Json): Promise<Json> =>
    (await board.call('/v1/responses', { model: 'helm', ...body }, as('ava'))).body;
  const got = async (board: TestSwitchboard, id: string, who = 'ava') =>
    await board.call(`/v1/responses/${id}`, undefined, as(who));
  const responseEverywhere = (id: string, status: string) =>
    waitFor(async () => {
      const [one, other] = await onEach(async (board) => (await got(board, id)).body);
      return isDeepStrictEqual(one, other) && one.status === status ? (one as Json) : undefined;
    }, patient);

  it.each(both)(
    'a response that is read, continued and deleted at another (%i, %i)',
    async (from, to) => {
      const first = await respond(at(from), { input: 'My name is Ada.' });
      await responseEverywhere(first.id, 'completed');
      expect((await got(at(to), first.id, 'bob')).status).toBe(404);
      const next = await respond(at(to), { input: 'What is it?', previous_response_id: first.id });
      expect(next.status).toBe('completed');
      expect(JSON.stringify(model().chats().at(-1)?.messages)).toContain('My name is Ada.');
      const deleted = await at(to).fetch(`/v1/responses/${first.id}`, {
        method: 'DELETE',
        headers: as('ava'),
      });
      expect(deleted.status).toBe(200);
      await waitFor(async () => (await got(at(from), first.id)).status === 404);
    },
    limitMs,
  );

  it.each(both)(
    'a response in the background that is cancelled at another (%i, %i)',
    async (from, to) => {
      const { id } = await stalled(() => respond(at(from), { input: 'Count', background: true }));
      await responseEverywhere(id, 'in_progress');
      const canceled = await at(to).call(`/v1/responses/${id}/cancel`, {}, as('ava'));
      expect(canceled.body.status).toBe('cancelled');
      model().release();
      await responseEverywhere(id, 'cancelled');
    },
    limitMs,
  );
}
