import { existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createNatsBus } from '@trunkline/bus';
import {
  type ChatRequestBody,
  type ModelServer,
  type NatsServer,
  natsMissing,
  startModelServer,
  startNatsServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  firstLive,
  journalled,
  type ProcessSwitchboard,
  processHome,
  waitForFire,
} from '../fixtures/process-switchboard.ts';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const patient = { timeoutMs: 90_000, intervalMs: 50 };
const helm =
  'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\ntools: [publish_event]\npublishes: [message.outbound.cli]\n';
const ringing = { topic: 'message.outbound.cli', payload: { content: 'Ring.' } };
const isMidWork = ({ messages }: Pick<ChatRequestBody, 'messages'>) =>
  messages.findLast(({ role }) => role === 'user')?.content === 'Ring, then stall once';
const toolResults = ({ messages }: Pick<ChatRequestBody, 'messages'>) =>
  messages.filter(({ role }) => role === 'tool').length;
/** Each board has a key of its own for the model, which tells who asked. */
const modelKey = (index: number) => `key-of-board-${index}`;
const sorted = (values: string[]) => values.toSorted();

/** Two switchboards in processes of their own, with homes and workspaces of their own, on one real NATS server. */
describe.skipIf(natsMissing !== undefined)('two switchboards on one NATS server', () => {
  let nats: NatsServer;
  let model: ModelServer;
  let homes: ReturnType<typeof processHome>[];
  let boards: [ProcessSwitchboard, ProcessSwitchboard];

  beforeAll(async () => {
    nats = await startNatsServer();
    // The first request after the tool of this work stalls, whatever else is asked meanwhile.
    let stalls = 1;
    model = await startModelServer({
      script: (request) => {
        if (!isMidWork(request)) return 'Done.';
        if (toolResults(request) === 0) return { toolCalls: [{ name: 'publish_event', arguments: ringing }] };
        return stalls-- > 0 ? { fault: 'stall', answer: 'Too late.' } : 'Done.';
      },
    });
    const environment = {
      NATS_URL: nats.url,
      // Longer than a busy machine keeps a process waiting: one that only stood still must not be taken for dead.
      SWITCHBOARD_LEASE_MS: '2000',
      SWITCHBOARD_TAKEOVER_MS: '12000',
      LLM_GATEWAY_URL: model.url,
      LLM_MODEL: 'm',
    };
    homes = [0, 1].map((index) => processHome({ ...environment, LLM_API_KEY: modelKey(index) }));
    for (const home of homes) home.write('agents/helm.yaml', helm);
    const [one, other] = await Promise.all(homes.map((home) => home.start()));
    boards = [one as ProcessSwitchboard, other as ProcessSwitchboard];
  });
  afterAll(async () => {
    model.release();
    await Promise.all(homes.map((home) => home.remove()));
    await model.stop();
    await nats.stop();
  });

  const leads = async (board: ProcessSwitchboard) =>
    (await board.call('/api/cluster')).body.data.isLeader === true;
  const leader = () =>
    waitFor(async () => {
      const [first, second] = await Promise.all(boards.map(leads));
      return first === second ? undefined : first ? { index: 0 } : { index: 1 };
    }, patient).then(({ index }) => ({
      index,
      leading: boards[index] as ProcessSwitchboard,
      other: boards[1 - index] as ProcessSwitchboard,
    }));
  const restart = async (index: number) => {
    boards[index] = (await homes[index]?.start()) as ProcessSwitchboard;
  };
  const record = (id: string, schedule: string) => ({
    id,
    schedule,
    topic: `cron.${id}`,
    payload: { content: id },
  });

  it('take over from each other in turn, and every schedule fires once', async () => {
    for (const round of [0, 1]) {
      const { index, leading, other } = await leader();
      const at = new Date(Date.now() + 12_000).toISOString();
      const ids = Array.from({ length: 20 }, (_, number) => `round-${round}-${number}`);
      const fired = await firstLive(leading, 'cron.#');
      // Handed in at the one that does not lead.
      const added = await Promise.all(ids.map((id) => other.call('/api/schedules', record(id, at))));
      expect(added.map(({ status }) => status)).toEqual(ids.map(() => 201));
      await waitFor(
        () => homes.every(({ workspace }) => existsSync(join(workspace, 'crons', `${ids[19]}.yaml`))),
        patient,
      );
      await fired();
      await leading.child.kill('SIGKILL');
      await waitFor(async () => (await other.call('/api/schedules')).body.data.count === 0, patient);
      const fires = (await journalled(other, 'cron.#'))
        .map(({ id }) => id)
        .filter((id) => id.startsWith(`round-${round}`));
      expect(sorted(fires)).toEqual(sorted(ids.map((id) => `${id}@${at}`)));
      for (const id of ids) {
        await waitForFire(other, id, 'done');
        expect((await other.call(`/api/schedules/${id}`)).body.data.history).toHaveLength(1);
      }
      await restart(index);
      // The one that was away learns what happened meanwhile.
      await waitForFire(boards[index] as ProcessSwitchboard, ids[0] as string, 'done');
    }
    const answers = (await journalled(boards[0], 'message.outbound.cli')).map(
      ({ correlationId }) => correlationId,
    );
    expect(new Set(answers).size).toBe(answers.length);
    expect(answers).toHaveLength(40);
  });

  it('handle each request once, whichever took it in', async () => {
    const before = model.chats().length;
    const ask = (number: number) =>
      (boards[number % 2] as ProcessSwitchboard).call('/publish', {
        topic: 'message.inbound.cli',
        payload: { content: `Question ${number}` },
        correlationId: `question-${number}`,
      });
    const count = 30;
    await Promise.all(Array.from({ length: count }, (_, number) => ask(number)));
    const answered = async () =>
      (await journalled(boards[1], 'message.outbound.cli')).filter(({ correlationId }) =>
        correlationId.startsWith('question-'),
      );
    await waitFor(async () => (await answered()).length >= count, patient);
    expect(new Set((await answered()).map(({ correlationId }) => correlationId)).size).toBe(count);
    expect(await answered()).toHaveLength(count);
    expect(model.chats().length - before).toBe(count);
    const flows = await Promise.all(boards.map((board) => board.call('/api/flows?limit=1000')));
    // Each shows the flows of both, one for a request.
    for (const { body } of flows) {
      const ids = body.data.flows.map(({ id }: { id: string }) => id);
      expect(ids.filter((id: string) => id.startsWith('skill-question-'))).toHaveLength(count);
    }
  });

  it('take over the work of one that was killed in the middle of it, at the step where it was', async () => {
    await boards[0].call('/publish', {
      topic: 'message.inbound.cli',
      payload: { content: 'Ring, then stall once' },
      correlationId: 'mid-work',
    });
    // Killed before it asked, it would leave the stall to the one that takes over. Both show the flow, one works on it.
    const isStalling = (request: ChatRequestBody) => isMidWork(request) && toolResults(request) > 0;
    const { headers } = await waitFor(
      () => model.requests.find(({ body }) => isStalling(body as ChatRequestBody)),
      patient,
    );
    const index = headers.authorization === `Bearer ${modelKey(0)}` ? 0 : 1;
    await boards[index]?.child.kill('SIGKILL');
    const survivor = boards[1 - index] as ProcessSwitchboard;
    const answers = async () =>
      (await journalled(survivor, 'message.outbound.cli')).filter(
        ({ correlationId, payload }) => correlationId === 'mid-work' && payload.content !== 'Ring.',
      );
    await waitFor(async () => (await answers()).length > 0, patient);
    expect((await answers()).map(({ payload }) => payload.content)).toEqual(['Done.']);
    // The one that took over neither asked the model for the call again nor made it again.
    expect(model.chats().filter(isMidWork).map(toolResults)).toEqual([0, 1, 1]);
    const rings = (await journalled(survivor, 'message.outbound.cli')).filter(
      ({ payload }) => payload.content === 'Ring.',
    );
    expect(rings).toHaveLength(1);
    await restart(index);
  });

  it('carry changes of the workspace to each other, whatever each calls the file', async () => {
    // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
    const route = { name: 'bell', when: { topic: 'bell.rang' }, then: { skill: 'chat' } };
    expect((await boards[0].call('/api/routes', route)).status).toBe(201);
    for (const { workspace } of homes)
      await waitFor(() => existsSync(join(workspace, 'routes.d', 'bell.yaml')), patient);
    const [, renamed] = homes.map(({ workspace }) => join(workspace, 'routes.d', 'bell'));
    renameSync(`${renamed}.yaml`, `${renamed}.yml`);
    await waitFor(
      async () => (await boards[1].call('/api/routes/bell', undefined, 'DELETE')).status === 200,
      patient,
    );
    for (const { workspace } of homes)
      await waitFor(() => !readdirSync(join(workspace, 'routes.d')).join().includes('bell.y'), patient);
  });

  it('carry credentials to each other, which the journal of the bus never shows', async () => {
    const write = async (at: number, key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const server = {
        name: 'far',
        trust: 'community',
        transport: 'http',
        url: 'http://127.0.0.1:9/',
        headers,
      };
      return await (boards[at] as ProcessSwitchboard).call('/api/mcp-servers/far', server, 'PUT');
    };
    // Either may carry out what the other took in.
    const keys = Array.from({ length: 6 }, (_, round) => `hush-of-round-${round}`);
    const places = homes.map(({ workspace }) => join(workspace, 'mcp-servers.d', 'far.yaml'));
    for (const [round, key] of keys.entries()) {
      expect((await write(round % 2, key)).status).toBe(200);
      for (const place of places)
        await waitFor(() => existsSync(place) && readFileSync(place, 'utf8').includes(key), patient);
    }
    expect(places.map((place) => statSync(place).mode & 0o777)).toEqual([0o600, 0o600]);
    const reader = await createNatsBus({ servers: nats.url, logger: silent, durableTopics: ['#'] });
    const entries = await reader.history({ limit: 1000 });
    await reader.stop();
    const topics = new Set(entries.map(({ message }) => message.topic));
    expect([...topics]).toEqual(expect.arrayContaining(['command.mcp.upsert', 'config.files']));
    expect(JSON.stringify(entries)).toContain('"sealed"');
    expect(JSON.stringify(entries)).not.toContain('hush-of-round');
    for (const board of boards) {
      const shown = await Promise.all(
        ['/api/changes', '/api/bus/history?limit=1000', '/api/mcp-servers'].map((path) => board.call(path)),
      );
      expect(JSON.stringify(shown)).not.toContain('hush-of-round');
    }
  });

  it('let a leader that stood still do no harm when it wakes', async () => {
    const { leading, other } = await leader();
    const at = new Date(Date.now() + 3000).toISOString();
    await other.call('/api/schedules', record('stale', at));
    process.kill(leading.child.pid, 'SIGSTOP');
    await waitForFire(other, 'stale', 'done');
    // The lease runs out also where the schedule came before the halt.
    await waitFor(() => leads(other), patient);
    process.kill(leading.child.pid, 'SIGCONT');
    await waitFor(async () => !(await leads(leading)), patient);
    await waitFor(async () => (await leading.call('/api/schedules')).body.data.count === 0, patient);
    expect(await journalled(other, 'cron.stale')).toHaveLength(1);
    expect((await leading.call('/api/schedules/stale')).body.data.history).toHaveLength(1);
  });

  it('perform a ceremony once', async () => {
    for (const home of homes)
      home.write('ceremonies/retro.yaml', 'id: retro\nname: Retro\nschedule: "0 9 * * 1"\nskill: chat\n');
    await waitFor(async () => (await boards[0].call('/api/ceremonies')).body.data.length === 1, patient);
    await waitFor(async () => (await boards[1].call('/api/ceremonies')).body.data.length === 1, patient);
    const { runId } = (await boards[0].call('/api/ceremonies/retro/run', {})).body.data;
    const runs = async (board: ProcessSwitchboard) =>
      (await board.call('/api/ceremonies/retro')).body.data.runs;
    for (const board of boards)
      await waitFor(async () => (await runs(board))[0]?.status === 'success', patient);
    expect(await journalled(boards[0], 'ceremony.retro.completed')).toMatchObject([
      { payload: { outcome: { runId } } },
    ]);
  });
});
