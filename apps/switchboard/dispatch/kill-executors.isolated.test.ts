import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readVariable } from '@trunkline/config';
import {
  FakeSignal,
  type McpTestServer,
  type ModelServer,
  mcpProgram,
  type NatsServer,
  natsMissing,
  startMcpServer,
  startModelServer,
  startNatsServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type ProcessSwitchboard, processHome } from '../fixtures/process-switchboard.ts';
import { type RemoteTestAgent, startRemoteAgent } from '../fixtures/remote-agent.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

/*
 * A switchboard with the shipped limits is killed with SIGKILL at random moments while it has 1,000 messages to bring to
 * every kind of executor, 125 for each kind (on NATS 200, 25 for each). Whoever does the work notes it outside the killed process. Every message
 * that was accepted must have been done at least once. The seed chooses the moments and the order; KILL_SEED repeats one.
 */
const seed = Number(readVariable('KILL_SEED') ?? Math.floor(Math.random() * 2 ** 31));
const publishers = 24;
const callers = 6;
const key = 'let-me-in';
const number = '+4930123';
const tidyMs = 120_000;

type Kind = (typeof kinds)[number];
const kinds = [
  'in-process',
  'mcp-stdio',
  'mcp-http',
  'a2a-card',
  'a2a-file',
  'compat',
  'surface',
  'ceremony',
] as const;

/** What each kind is asked by: a message on the bus, or a request at the OpenAI-compatible door. */
const draftOf = (kind: Kind, id: string): Json => {
  const request = (skillHint: string, content: string) => ({
    topic: 'agent.skill.request',
    payload: { skillHint, content },
    id,
    correlationId: id,
  });
  const words = JSON.stringify({ words: id });
  if (kind === 'in-process') return { topic: 'message.inbound.cli', payload: { content: id }, id };
  if (kind === 'mcp-stdio') return request('recorder.note', words);
  if (kind === 'mcp-http') return request('echo.echo', words);
  if (kind === 'a2a-card') return request('by-card', id);
  if (kind === 'a2a-file') return request('by-file', id);
  if (kind === 'surface') return { topic: 'message.outbound.messenger.+491', payload: { content: id }, id };
  return { topic: 'ceremony.muster.execute', payload: { runId: id }, id };
};

const engines = [
  { engine: 'embedded', forEach: 125, kills: 5 },
  { engine: 'NATS', forEach: 25, kills: 2 },
] as const;

const done = new Set<string>();
const accepted = new Set<string>();
let events = 0;
const note = (id: string) => {
  done.add(id);
  events += 1;
};

let [nats, model, signal, tools, byCard, byFile] = [] as unknown as [
  NatsServer | undefined,
  ModelServer,
  FakeSignal,
  McpTestServer,
  RemoteTestAgent,
  RemoteTestAgent,
];
let directory: TemporaryDirectory;
let home: ReturnType<typeof processHome>;
let record: string;

async function open(engine: (typeof engines)[number]['engine']): Promise<void> {
  done.clear();
  accepted.clear();
  events = 0;
  nats = engine === 'NATS' ? await startNatsServer() : undefined;
  directory = temporaryDirectory();
  record = join(directory.path, 'record');
  model = await startModelServer({
    script: ({ messages }) => {
      const said = String(messages.at(-1)?.content);
      note(said);
      return `heard ${said}`;
    },
  });
  signal = await FakeSignal.start(number);
  tools = await startMcpServer({ key, onCall: note });
  const work = (kept: (text: string, metadata: Json) => string) =>
    startRemoteAgent(
      async function* ({ text, metadata }) {
        note(kept(text, metadata));
        yield { type: 'completed', text: 'done' };
      },
      { skills: ['by-card'] },
    );
  byCard = await work((text) => text);
  // A ceremony asks all its runs with the same words; the correlation tells them apart.
  byFile = await work((text, { correlationId, skillHint }) =>
    skillHint === 'muster' ? correlationId : text,
  );
  home = processHome({
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    NATS_URL: nats?.url ?? '',
    // What a killed process had begun is taken over soon.
    SWITCHBOARD_TAKEOVER_MS: '2000',
    SWITCHBOARD_LEASE_MS: '1000',
    MESSENGER_URL: signal.url,
    MESSENGER_NUMBER: number,
    SWITCHBOARD_TASK_POLL_MS: '500',
  });
  for (const [file, text] of Object.entries({
    'agents/helm.yaml': agent('helm', 'role: general\ntools: []\nskills: [{ name: chat }]'),
    'agents.yaml': `agents:
  - { name: scout, url: "${byCard.url}" }
  - { name: porter, url: "${byFile.url}", skills: [by-file, muster] }`,
    'mcp-servers.d/recorder.yaml': `name: recorder\ntrust: trusted\ntransport: stdio\ncommand: ${process.execPath}\nargs: ["${mcpProgram}", "note=${record}"]\nsandbox: { writable: ["${directory.path}"] }`,
    'mcp-servers.d/echo.yaml': `name: echo\ntrust: trusted\ntransport: http\nurl: ${tools.url}\nheaders: { Authorization: "Bearer ${key}" }`,
    'ceremonies/muster.yaml':
      'id: muster\nname: Muster\nschedule: "0 0 1 1 *"\nskill: muster\ntargets: [porter]\nnotifyChannel: ""\nenabled: true',
  }))
    home.write(file, text);
}

async function close(): Promise<void> {
  await home.remove();
  await Promise.all([nats?.stop(), model.stop(), signal.stop(), tools.stop(), byCard.stop(), byFile.stop()]);
  directory.remove();
}

/** What the recorder and the messenger have noted, which tell nobody. */
function collect(): void {
  const noted = existsSync(record) ? readFileSync(record, 'utf8').split('\n') : [];
  for (const id of [...noted, ...signal.sent.map(({ message }) => message)]) {
    if (id !== '' && !done.has(id)) note(id);
  }
}

/** The same numbers for the same seed. */
function randomNumbers(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((left, right) => left.place - right.place)
    .map(({ item }) => item);
}

describe.each(engines)('on the $engine bus', (run) => {
  beforeEach(() => open(run.engine));
  afterEach(close);

  it.skipIf(run.engine === 'NATS' && natsMissing !== undefined)(
    'a switchboard that is killed again and again does all that it accepted, whoever does the work',
    () => killAndCount(run),
    // Half a minute by itself; on a busy machine ten times as long.
    900_000,
  );
});

async function killAndCount({ forEach, kills }: (typeof engines)[number]): Promise<void> {
  const random = randomNumbers(seed);
  let board = home.start();
  const skillsKnown = async () => {
    const { body } = await (await board).call('/api/agents');
    const names = body.data.flatMap(({ skills }: Json) => skills.map(({ name }: Json) => name));
    return ['recorder.note', 'echo.echo', 'by-card'].every((name) => names.includes(name));
  };
  await waitFor(skillsKnown, { timeoutMs: 60_000 });

  /** Asks until it is answered: the switchboard may be gone at any moment. */
  const insist = async (attempt: (there: ProcessSwitchboard) => Promise<number>) => {
    await waitFor(
      async () => {
        const status = await attempt(await board);
        if (status !== 200 && status !== 503) throw new Error(`answered ${status}`);
        return status === 200;
      },
      { timeoutMs: tidyMs },
    );
  };
  const publish = async ([kind, id]: readonly [Kind, string]) => {
    await insist(async (there) => (await there.call('/publish', draftOf(kind, id))).status);
    accepted.add(id);
    events += 1;
  };
  const complete = async ([, id]: readonly [Kind, string]) => {
    const body = { model: 'helm/chat', messages: [{ role: 'user', content: id }] };
    await insist(async (there) => (await there.call('/v1/chat/completions', body)).status);
    accepted.add(id);
    events += 1;
  };
  const all = shuffled(
    kinds.flatMap((kind) =>
      Array.from({ length: forEach }, (_, index) => [kind, `${kind}-${index}`] as const),
    ),
    random,
  );
  const drain = async (queue: (readonly [Kind, string])[], send: typeof publish) => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await send(next);
  };
  const isCompat = ([kind]: readonly [Kind, string]) => kind === 'compat';
  const [asked, published] = [all.filter(isCompat), all.filter((entry) => !isCompat(entry))];
  const sending = Promise.all([
    ...Array.from({ length: publishers }, () => drain(published, publish)),
    ...Array.from({ length: callers }, () => drain(asked, complete)),
  ]);

  const moments = Array.from({ length: kills }, () => 20 + Math.floor(random() * all.length * 1.7)).sort(
    (a, b) => a - b,
  );
  for (const moment of moments) {
    await waitFor(
      () => {
        collect();
        return events >= moment;
      },
      { timeoutMs: tidyMs, intervalMs: 20 },
    );
    await (await board).child.kill('SIGKILL');
    board = home.start();
    await board;
  }
  await sending;
  const missing = () => {
    collect();
    return all.map(([, id]) => id).filter((id) => !done.has(id));
  };
  await waitFor(() => missing().length === 0, { timeoutMs: tidyMs }).catch(() => undefined);
  const report = `KILL_SEED=${seed}, killed at ${moments.join(', ')}`;
  const last = await board;
  const fateOf = async (id: string) => ({ id, flow: (await last.call(`/api/flows/skill-${id}`)).body.data });
  expect(await Promise.all(missing().map(fateOf)), report).toEqual([]);
  expect(accepted.size, report).toBe(all.length);

  const history = async (topic: string): Promise<Json[]> =>
    (await last.call(`/api/bus/history?topic=${encodeURIComponent(topic)}&limit=1000`)).body.data.messages;
  expect(await history('dispatch.dropped.#'), report).toEqual([]);
  expect((await last.call('/api/dead-letters')).body.data.letters, report).toEqual([]);
  // Also what a caller asked for whose connection was cut by the kill: it stands in the journal.
  const atDoor = (await history('agent.skill.request'))
    .map(({ message }) => message)
    .filter(({ source }) => source?.interface === 'openai');
  const endOf = async ({ correlationId }: Json) =>
    (await last.call(`/api/flows/skill-${correlationId}`)).body.data?.stage;
  for (const message of atDoor)
    await waitFor(async () => (await endOf(message)) === 'done', { timeoutMs: tidyMs }).catch(
      (cause: unknown) => {
        throw new Error(`${report}: ${JSON.stringify(message)} was not done`, { cause });
      },
    );
}
