import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { encodePrincipal, principalHeader } from '@trunkline/identity';
import {
  callsOf,
  type ModelServer,
  type NatsServer,
  natsMissing,
  noPeers,
  ObedientModel,
  readAttacks,
  startModelServer,
  startNatsServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { describeSharedDeadLetters } from './shared-dead-letters.suite.ts';
import { describeSharedSchedules } from './shared-schedules.suite.ts';
import { describeSharedTasks } from './shared-tasks.suite.ts';

const obedient = new ObedientModel();
/** The token by which voice is known. */
const peers = noPeers('between-services');

/** Two switchboards with homes of their own on one real NATS server. */
describe.skipIf(natsMissing !== undefined)('every switchboard on a bus shows', () => {
  let nats: NatsServer;
  let model: ModelServer;
  let boards: TestSwitchboard[];
  /** Of the one that is stopped and started again. */
  let home: ReturnType<typeof temporaryDirectory>;
  const tools = 'tools: [publish_event, report_incident]\npublishes: [note.#]';
  const start = (place: { home?: string } = {}) =>
    startSwitchboard({
      ...place,
      files: { 'agents/helm.yaml': agent('helm', `role: general\n${tools}\nskills: [{ name: chat }]`) },
      peers,
      env: {
        NATS_URL: nats.url,
        LLM_GATEWAY_URL: model.url,
        LLM_API_KEY: 'k',
        LLM_MODEL: 'm',
        PUSH_NOTIFICATION_ALLOWED_HOSTS: '127.0.0.1',
      },
    });
  beforeAll(async () => {
    home = temporaryDirectory();
    nats = await startNatsServer();
    model = await startModelServer({ script: (request) => obedient.reply(request) });
    boards = [await start(), await start({ home: home.path })];
    await waitFor(async () => (await Promise.all(boards.map(nodes))).every(({ length }) => length === 2));
  });
  afterAll(async () => {
    await Promise.all(boards.map((board) => board.stop()));
    await nats.stop();
    await model.stop();
    home.remove();
  });

  const nodes = async (board: TestSwitchboard): Promise<Json[]> =>
    (await board.call('/api/cluster')).body.data.nodes;
  const onEach = (read: (board: TestSwitchboard) => Promise<Json>) => Promise.all(boards.map(read));

  const at = (index: number, file: string) => join(boards[index]?.workspace ?? '', file);
  const holds = (index: number, file: string, text: string | undefined) => () =>
    (existsSync(at(index, file)) ? readFileSync(at(index, file), 'utf8') : undefined) === text;
  const keys = 'keys:\n  - { name: press, envKey: PRESS_KEY, subscribe: ["news.#"] }\n';
  /** How often a file that somebody edited was shared. */
  const sharings = async (file: string): Promise<number> => {
    const history = await boards[0]?.call('/api/bus/history?topic=config.files&limit=1000');
    return history?.body.data.messages.filter(({ message }: Json) => message.payload.entry?.name === file)
      .length;
  };

  it('all switchboards, with their version and who leads', async () => {
    const [one, other] = await onEach(nodes);
    expect(one.map(({ node }: Json) => node).toSorted()).toEqual(
      other.map(({ node }: Json) => node).toSorted(),
    );
    await waitFor(async () =>
      (await onEach(nodes)).every(
        (list: Json[]) =>
          list.filter(({ isLeader }) => isLeader).length === 1 && list[0].version === list[1].version,
      ),
    );
    // Each tells which server it uses, and that it has taken over all that is for it.
    const { server, serverVersion } = (await boards[0]?.call('/api/cluster'))?.body.data.nats ?? {};
    expect(serverVersion).toMatch(/^\d+\./);
    const caughtUp = { server, serverVersion, behind: 0, queued: 0 };
    await waitFor(async () =>
      (await onEach(nodes)).flat().every((each: Json) => isDeepStrictEqual({ ...each, ...caughtUp }, each)),
    );
  });

  it('all flows, each once and with its trace, whoever did the work', async () => {
    const count = 12;
    for (let number = 0; number < count; number += 1)
      await boards[number % 2]?.call('/publish', {
        topic: 'message.inbound.cli',
        payload: { content: `Question ${number}` },
        correlationId: `shared-${number}`,
      });
    const listed = async (board: TestSwitchboard) =>
      (await board.call('/api/flows?status=complete&limit=100')).body.data.flows.map(({ id }: Json) => id);
    const wanted = Array.from({ length: count }, (_, number) => `skill-shared-${number}`).toSorted();
    const everywhere = await waitFor(async () => {
      const lists = await onEach(listed);
      return lists.every((ids: string[]) => ids.length === count) ? lists : undefined;
    });
    for (const ids of everywhere) expect(ids.toSorted()).toEqual(wanted);
    // A list leaves out who does not answer within a second, as a busy machine may: each is asked until it did.
    for (const id of wanted)
      await waitFor(async () => {
        const [one, other] = await onEach(async (board) => (await board.call(`/api/flows/${id}`)).body.data);
        return isDeepStrictEqual(one, other) && one?.trace.length > 1;
      });
    const page = async (board: TestSwitchboard, offset: number) =>
      (await board.call(`/api/flows?limit=5&offset=${offset}`)).body.flows.map(({ id }: Json) => id);
    for (const board of boards) {
      await waitFor(async () => {
        const pages = await Promise.all([0, 5, 10].map((offset) => page(board, offset)));
        return isDeepStrictEqual(pages.flat().toSorted(), wanted);
      });
      await waitFor(async () => (await board.call('/api/flows?offset=1000')).status === 400);
    }
    const statusOf = async () => (await boards[0]?.call('/api/flows/skill-of-nobody'))?.status;
    await waitFor(async () => (await statusOf()) === 404);
  });

  it('a flow that can be asked again at any of them', async () => {
    await boards[0]?.call('/publish', {
      topic: 'message.inbound.cli',
      payload: { content: 'Once' },
      correlationId: 'again',
    });
    const flow = (board: TestSwitchboard) => board.call('/api/flows/skill-again');
    await waitFor(async () =>
      (await onEach(flow)).every(({ body }: Json) => body.data?.status === 'complete'),
    );
    const replay = async (board: TestSwitchboard) =>
      (await board.call('/api/flows/skill-again/replay', {})).status;
    for (const board of boards) await waitFor(async () => (await replay(board)) === 202);
  });

  it.each(readAttacks('cluster'))(
    'that $id waits for a person, at whichever it is asked again',
    async (attack) => {
      const { id, text } = attack;
      const origins = [{ kind: 'fetch_url', source: 'https://evil.example/' }];
      const ava = encodePrincipal({ kind: 'person', id: 'voice:ava', via: ['voice'], origins });
      const headers = { authorization: `Bearer ${peers.serviceToken}`, [principalHeader]: ava };
      const content = `${text} ${obedient.order(id, callsOf(attack, {}))}`;
      const message = { topic: 'message.inbound.cli', payload: { content }, correlationId: id };
      const pending = async (board: TestSwitchboard) => (await board.call('/api/hitl/pending')).body.data;
      const deny = async (board: TestSwitchboard | undefined) => {
        const [{ requestId }] = await waitFor(async () => {
          const lists = await onEach(pending);
          return lists.every((list: Json[]) => list.length === 1) ? (lists[0] as Json[]) : undefined;
        });
        expect((await board?.call('/api/a2a/input', { requestId, answer: 'no' }))?.status).toBe(200);
        await waitFor(async () => (await onEach(pending)).every((list: Json[]) => list.length === 0));
      };
      await boards[0]?.call('/publish', message, headers);
      await deny(boards[1]);
      for (const board of boards) {
        // A flow that is over is asked again, with what its words were drawn from.
        await waitFor(async () => (await board.call(`/api/flows/skill-${id}/replay`, {})).status === 202);
        await deny(boards.find((each) => each !== board));
      }
      for (const path of ['/api/bus/history?topic=note.%23', '/api/incidents'])
        for (const { body } of await onEach((board) => board.call(path)))
          expect(JSON.stringify(body)).not.toContain('owned');
    },
  );

  it('all open questions, until one is answered at any of them', async () => {
    const asking = boards[0]?.call('/api/agent/ask-human', {
      correlationId: 'q1',
      question: 'Which colour?',
    });
    const pending = async (board: TestSwitchboard) => (await board.call('/api/hitl/pending')).body.data;
    await waitFor(async () => (await onEach(pending)).every((list: Json[]) => list.length === 1));
    const [question] = await waitFor(async () => {
      const [list] = await onEach(pending);
      return list.length === 1 ? (list as Json[]) : undefined;
    });
    const answered = await boards[1]?.call('/api/a2a/input', {
      requestId: question.requestId,
      answer: 'Blue',
    });
    expect(answered?.status).toBe(200);
    expect((await asking)?.body.answer).toBe('Blue');
    await waitFor(async () => (await onEach(pending)).every((list: Json[]) => list.length === 0));
  });

  it('all deliveries', async () => {
    const published: Json = await boards[1]?.call('/publish', {
      topic: 'message.outbound.messenger.+491',
      payload: { content: 'Hello' },
    });
    const failed = async (board: TestSwitchboard) =>
      (await board.call('/api/deliveries?state=failed')).body.data.deliveries.map(({ id }: Json) => id);
    const everywhere = await waitFor(async () => {
      const lists = await onEach(failed);
      return lists.every((ids: string[]) => ids.includes(published.body.id)) ? lists : undefined;
    });
    for (const ids of everywhere)
      expect(ids.filter((id: string) => id === published.body.id)).toHaveLength(1);
  });

  describeSharedDeadLetters({ boards: () => boards, natsUrl: () => nats.url });

  it('all incidents, each under a number of its own, and keeps aside a file that cannot be read', async () => {
    const report = (board: TestSwitchboard) => board.call('/api/incidents', { title: 'x', severity: 'low' });
    const ids: string[] = [];
    for (let round = 0; round < 10; round += 1)
      for (const { status, body } of await onEach(report)) {
        expect(status).toBe(201);
        ids.push(body.data.id);
      }
    expect(new Set(ids).size).toBe(20);
    // What one reports does not undo what the other resolves.
    const resolving = boards.map((board, index) => board.call(`/api/incidents/${ids[index]}/resolve`, {}));
    const [one, other, ...more] = await Promise.all([...resolving, ...boards.map(report)]);
    expect([one?.status, other?.status]).toEqual([200, 200]);
    ids.push(...more.map(({ body }) => body.data.id));
    const everywhere = (count: number) =>
      waitFor(async () => {
        const lists = await onEach(async (board) => (await board.call('/api/incidents')).body.data);
        return isDeepStrictEqual(lists[0], lists[1]) && lists[0].length === count
          ? (lists[0] as Json[])
          : undefined;
      });
    const all = await everywhere(22);
    expect(all.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(all.flatMap(({ id, status }) => (status === 'resolved' ? [id] : []))).toEqual(
      ids.slice(0, 2).toSorted(),
    );
    const broken = 'incidents:\n  - title: [half';
    boards[1]?.write('incidents.yaml', broken);
    expect((await report(boards[0] as TestSwitchboard)).status).toBe(201);
    await everywhere(23);
    const aside = readdirSync(boards[1]?.workspace ?? '').find((name) => name.startsWith('incidents.yaml.b'));
    expect(readFileSync(at(1, aside ?? ''), 'utf8')).toBe(broken);
  });

  it('all changes under one number, and takes each back wherever it was made', async () => {
    const changes = async (board: TestSwitchboard): Promise<Json[]> =>
      (await board.call('/api/changes?kind=route&name=bell')).body.data;
    const everywhere = (count: number) =>
      waitFor(async () => {
        const [one, other] = await onEach(changes);
        return isDeepStrictEqual(one, other) && one.length === count ? (one as Json[]) : undefined;
      });
    // Either may carry out what the other took in, so both do some of it.
    for (const [round, board] of [...boards, ...boards].entries()) {
      // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
      const route = { name: 'bell', when: { topic: 'bell.rang' }, then: { skill: 'chat' } };
      expect((await board.call('/api/routes', route)).status).toBe(201);
      const [added] = await everywhere(2 * round + 1);
      expect(added).toMatchObject({ file: 'routes.d/bell.yaml', before: null, by: 'operator' });
      const other = boards.find((each) => each !== board);
      const undone = await other?.call(`/api/changes/${added.id}/undo`, { reason: 'too loud' });
      expect(undone).toMatchObject({
        status: 200,
        body: { data: { undoes: added.id, after: null, reason: 'too loud' } },
      });
      expect((await everywhere(2 * round + 2))[0]).toMatchObject({ id: undone?.body.data.id });
      for (const index of boards.keys()) await waitFor(holds(index, 'routes.d/bell.yaml', undefined));
    }
  });

  it('files that somebody edits by hand, wherever that is', async () => {
    const route = (skill: string) =>
      `# rings\nname: gong\nwhen: { topic: gong.rang }\nthen: { skill: ${skill} }\n`;
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      boards[from]?.write('routes.d/gong.yaml', route(`skill-${from}`));
      boards[from]?.write('keys.yaml', `# by ${from}\n${keys}`);
      await waitFor(holds(to, 'routes.d/gong.yaml', route(`skill-${from}`)));
      await waitFor(holds(to, 'keys.yaml', `# by ${from}\n${keys}`));
    }
    rmSync(at(1, 'routes.d/gong.yaml'));
    rmSync(at(1, 'keys.yaml'));
    await waitFor(holds(0, 'routes.d/gong.yaml', undefined));
    await waitFor(holds(0, 'keys.yaml', undefined));
    // One with a slip stays where it is: at its next start each would refuse it.
    const before = await sharings('keys.yaml');
    boards[0]?.write('keys.yaml', 'keys: press\n');
    await waitFor(async () =>
      JSON.stringify((await boards[0]?.call('/api/workspace'))?.body.data.problems).includes('keys.yaml'),
    );
    boards[0]?.write('keys.yaml', keys);
    await waitFor(holds(1, 'keys.yaml', keys));
    expect(await sharings('keys.yaml')).toBe(before + 1);
  });

  it.each([
    ['agents.yaml', 'agents: [{ name: scout, url: "http://127.0.0.1:1", skills: [look] }]\n'],
    ['channels.yaml', 'channels: [{ id: ops, platform: chat, channelId: "77", agent: helm }]\n'],
    ['approvers.yaml', 'approvers: ["chat:77"]\n'],
  ])('%s as somebody edits or removes it, wherever that is', async (file, text) => {
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      boards[from]?.write(file, `# by ${from}\n${text}`);
      await waitFor(holds(to, file, `# by ${from}\n${text}`));
    }
    if (file === 'agents.yaml') {
      const names = async (board: TestSwitchboard) =>
        (await board.call('/api/agents')).body.data.map(({ name }: Json) => name);
      await waitFor(async () => (await onEach(names)).every((list: string[]) => list.includes('scout')));
    }
    rmSync(at(0, file));
    await waitFor(holds(1, file, undefined));
    // One that is not YAML stays where it is.
    const before = await sharings(file);
    boards[0]?.write(file, 'a: [\n');
    await waitFor(async () =>
      JSON.stringify((await boards[0]?.call('/api/workspace'))?.body.data.problems).includes(file),
    );
    boards[0]?.write(file, text);
    await waitFor(holds(1, file, text));
    expect(await sharings(file)).toBe(before + 1);
    rmSync(at(1, file));
    await waitFor(holds(0, file, undefined));
  });

  describeSharedSchedules({ boards: () => boards, natsUrl: () => nats.url });

  it('a conversation that goes on, whichever answers', async () => {
    const source = { interface: 'cli', userId: 'ada' };
    const said: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      said.push(`Word ${round}`);
      const payload = { content: `Word ${round}`, direct: true };
      const sent = { topic: 'message.inbound.cli', payload, source, correlationId: `talk-${round}` };
      await boards[round % 2]?.call('/publish', sent);
      await waitFor(async () =>
        (await onEach((board) => board.call(`/api/flows/skill-talk-${round}`))).every(
          ({ body }: Json) => body.data?.status === 'complete',
        ),
      );
      // The turn is in the journal before its answer; now both have it.
      await waitFor(async () => (await onEach(nodes)).flat().every(({ behind }: Json) => behind === 0));
      const heard = model
        .chats()
        .at(-1)
        ?.messages.filter(({ role }) => role === 'user');
      expect(heard?.map(({ content }) => content)).toEqual(said);
    }
    // What people say is in the journal of the bus for switchboards alone.
    const shared = await boards[0]?.call('/api/bus/history?topic=cluster.conversations');
    expect(shared?.body.data.count).toBeGreaterThan(0);
    expect(JSON.stringify(shared?.body)).not.toContain('Word');
  });

  describe('tasks of /a2a and responses of /v1', () =>
    describeSharedTasks({
      boards: () => boards,
      model: () => model,
      serviceToken: peers.serviceToken,
    }));

  it('that something may be missing when one has gone, and does not wait for it', async () => {
    await boards.pop()?.stop();
    await waitFor(async () => (await onEach(nodes))[0].length === 1);
    for (const path of ['/api/flows', '/api/deliveries', '/api/hitl/pending'])
      expect(await boards[0]?.call(path)).toMatchObject({ status: 200, body: { incomplete: true } });
    // It may be one of those that only the other has.
    expect((await boards[0]?.call('/api/flows/skill-of-nobody'))?.status).toBe(503);
    expect((await boards[0]?.call('/api/flows/skill-of-nobody/replay', {}))?.status).toBe(503);
  });

  it('a file that was edited while it was stopped', async () => {
    const before = await sharings('keys.yaml');
    boards[0]?.write('keys.yaml', `# meanwhile\n${keys}`);
    await waitFor(async () => (await sharings('keys.yaml')) > before);
    boards.push(await start({ home: home.path }));
    await waitFor(holds(1, 'keys.yaml', `# meanwhile\n${keys}`));
  });
});
