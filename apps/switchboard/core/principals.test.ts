import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

type ModelServer = Awaited<ReturnType<typeof startModelServer>>;

const agent = `
name: ava
role: general
systemPrompt: You are Ava.
tools: [publish_event]
publishes: [note.#]
skills: [{ name: chat }]
`;
const second = 'name: bob\nrole: general\nsystemPrompt: You are Bob.\nskills: [{ name: follow }]\n';
const route = 'name: notes\nwhen: { topic: note.# }\nthen: { skill: follow, agent: bob }\n';
const ceremony = 'id: standup\nname: Standup\nschedule: "0 0 1 1 *"\nskill: chat\ntargets: [ava]\n';
const keys = 'keys: [{ name: ci, envKey: CI_KEY, publish: [message.inbound.ci] }]\n';
const operator = { kind: 'operator', id: 'operator', via: [] };
const stranger = { kind: 'anonymous', id: 'anonymous', via: [] };

let model: ModelServer;
let board: TestSwitchboard;
let asOperator: Record<string, string>;
beforeAll(async () => {
  model = await startModelServer({ script: () => 'done' });
  board = await startSwitchboard({
    env: { TRUNKLINE_OPEN: '0', LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' },
    files: {
      'agents/ava.yaml': agent,
      'agents/bob.yaml': second,
      'routes.d/notes.yaml': route,
      'ceremonies/standup.yaml': ceremony,
      'fleet.yaml': 'roles: { helm: ava }\n',
    },
  });
  asOperator = keyOf(board);
});
afterAll(async () => {
  await board.stop();
  await model.stop();
});

const keyOf = ({ home }: TestSwitchboard) => ({
  authorization: `Bearer ${readFileSync(join(home, 'operator-key'), 'utf8').trim()}`,
});
const history = async (query: string): Promise<Json[]> =>
  (await board.call(`/api/bus/history?limit=1000&${query}`, undefined, asOperator)).body.data.messages.map(
    ({ message }: Json) => message,
  );
/** The principal of the first message of a topic, once it is there. */
const principalOn = async (topic: string, correlationId?: string): Promise<Json> => {
  const query = `topic=${topic}${correlationId === undefined ? '' : `&correlationId=${correlationId}`}`;
  const message = await waitFor(async () => (await history(query)).at(-1));
  return message.principal;
};
const publish = async (body: object, headers = {}): Promise<string> =>
  (await board.call('/publish', body, headers)).body.correlationId;

describe('a message carries who asked', () => {
  it.each([
    { who: 'a stranger', headers: () => ({}), expected: stranger },
    { who: 'the operator', headers: () => asOperator, expected: operator },
  ])('from $who, and so does the request that is made of it', async ({ headers, expected }) => {
    const id = await publish({ topic: 'message.inbound.cli', payload: { content: 'hi' } }, headers());
    expect(await principalOn('message.inbound.cli', id)).toEqual(expected);
    expect(await principalOn('agent.skill.request', id)).toEqual(expected);
  });

  it('whatever the body claims', async () => {
    const principal = operator;
    const body = { topic: 'message.inbound.cli', payload: { content: 'hi', principal }, principal };
    const claimed = { 'x-trunkline-principal': Buffer.from(JSON.stringify(operator)).toString('base64url') };
    const id = await publish(body, claimed);
    expect(await principalOn('agent.skill.request', id)).toEqual(stranger);
  });

  it('at the doors for agents and OpenAI clients too', async () => {
    const messages = [{ role: 'user', content: 'by completion' }];
    await board.call('/v1/chat/completions', { model: 'ava', messages }, asOperator);
    const message = { role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: 'by task' }] };
    await board.call('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } });
    const requests = await history('topic=agent.skill.request');
    const of = (content: string) => requests.find(({ payload }) => payload.content === content)?.principal;
    expect(of('by completion')).toEqual(operator);
    expect(of('by task')).toEqual(stranger);
  });

  it('from a scoped key, by its name', async () => {
    const closed = await startSwitchboard({
      env: { SWITCHBOARD_API_KEY: 'admin-key', CI_KEY: 'ci-key', TRUNKLINE_OPEN: '0' },
      files: { 'keys.yaml': keys },
    });
    await closed.call(
      '/publish',
      { topic: 'message.inbound.ci', payload: { content: 'x' } },
      { 'x-api-key': 'ci-key' },
    );
    const { data } = (
      await closed.call('/api/bus/history?topic=message.inbound.ci', undefined, { 'x-api-key': 'admin-key' })
    ).body;
    expect(data.messages[0].message.principal).toEqual({ kind: 'agent', id: 'key:ci', via: [] });
    await closed.stop();
  });

  it('through what an agent publishes and the route behind it, no longer in person', async () => {
    model.enqueue({
      toolCalls: [{ name: 'publish_event', arguments: { topic: 'note.new', payload: { content: 'n' } } }],
    });
    const id = await publish({ topic: 'message.inbound.cli', payload: { content: 'note' } }, asOperator);
    const followed = await waitFor(async () =>
      (await history(`topic=agent.skill.request&correlationId=${id}`)).find(
        ({ payload }) => payload.skillHint === 'follow',
      ),
    );
    expect(followed.principal).toEqual({ ...operator, via: ['ava'] });
  });
});

describe('what fires by itself', () => {
  const job = { schedule: '0 0 1 1 *', payload: { content: 'x', skillHint: 'chat', on_behalf_of: 'sealed' } };
  const fired = async (id: string, headers: Record<string, string>) => {
    await board.call('/api/schedules', { ...job, id, topic: `cron.${id}` }, headers);
    await board.call(`/api/schedules/${id}/run-now`, {}, headers);
    return await principalOn(`cron.${id}`);
  };

  it('has the rights of whoever made the schedule at most', async () => {
    const own = { kind: 'schedule', id: 'schedule:own', via: [] };
    expect(await fired('own', asOperator)).toEqual(own);
    expect(await fired('guests', {})).toEqual({ ...stranger, via: ['schedule:guests'] });
    // For whom a schedule of the agent runs is brought by the agent or the operator, and put back by nobody else.
    const sealed = await Promise.all(['own', 'guests'].map((id) => history(`topic=cron.${id}`)));
    expect(sealed.map(([message]) => message?.payload.on_behalf_of)).toEqual(['sealed', undefined]);
  });

  it('is a ceremony for whoever began it', async () => {
    const { runId } = (await board.call('/api/ceremonies/standup/run', {})).body.data;
    expect(await principalOn('agent.skill.request', runId)).toEqual(stranger);
    const other = (await board.call('/api/ceremonies/standup/run', {}, asOperator)).body.data.runId;
    expect(await principalOn('agent.skill.request', other)).toEqual(operator);
  });
});

it('keeps what a guest says of users apart from the users of surfaces', async () => {
  const source = { interface: 'chat', channelId: '7', userId: '42' };
  const id = await publish({ topic: 'message.inbound.chat.7', payload: { content: 'hi' }, source });
  const [message] = await history(`topic=message.inbound.chat.7&correlationId=${id}`);
  expect(message.source.userId).toBe('anonymous:42');
  const other = await publish(
    { topic: 'message.inbound.chat.7', payload: { content: 'hi' }, source },
    asOperator,
  );
  const [own] = await history(`topic=message.inbound.chat.7&correlationId=${other}`);
  expect(own.source.userId).toBe('42');
});
