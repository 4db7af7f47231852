// Curves instead of points: the same question asked of little and of much. Nothing here has a peer; each row compares ours
// with itself. `npm run bench growth` fills about 5 GB of a temporary directory, which goes when it ends.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { ChatStore } from '../apps/agent/chats/chat-store.ts';
import { KnowledgeStore } from '../apps/agent/stores/knowledge/knowledge-store.ts';
import { openState } from '../apps/agent/turns/turn-state.ts';
import { FlowStore } from '../apps/switchboard/flows/flow-store.ts';
import { startProgram } from './agent/processes.ts';
import { ask } from './agent.ts';
import { corpus, queries } from './memory/corpus.ts';
import type { BenchResult } from './result.ts';
import { measureFlowLists } from './switchboard/flow-lists.ts';

const operator = { kind: 'operator', id: 'operator', via: [] } as const;
const member = { kind: 'person', id: 'ann', via: [] } as const;
const stranger = { kind: 'person', id: 'bob', via: [] } as const;
const asked = 200;

const parts = { contexts, flows, 'flow-lists': measureFlowLists, recall, history };

export async function run(names: readonly string[] = Object.keys(parts)): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (!names.includes(name)) continue;
    const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
    try {
      results.push(...(await measure(home)));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  return results;
}

/** Turns spread over more and more conversations, a new service for each number of them. */
async function contexts(home: string): Promise<BenchResult[]> {
  const rows: BenchResult[] = [];
  let few: Turns | undefined;
  for (const count of [10, 1, 100, 1000]) {
    const found = await turnsIn(join(home, String(count)), count);
    few ??= found;
    for (const field of ['cpu', 'latency', 'resident', 'perSecond'] as const) {
      const { name, unit } = turnFields[field];
      const better = field === 'perSecond' ? 'higher' : 'lower';
      rows.push(row(`${name}, ${count} contexts`, unit, found[field], { '10 contexts': few[field] }, better));
    }
  }
  return rows;
}

const turnFields = {
  cpu: { name: 'CPU of a turn', unit: 'ms' },
  latency: { name: 'half of the turns take less', unit: 'ms' },
  resident: { name: 'memory after the turns', unit: 'MB' },
  perSecond: { name: 'turns a second', unit: 'turns/s' },
};

type Turns = Record<keyof typeof turnFields, number>;

async function turnsIn(home: string, count: number): Promise<Turns> {
  const gateway = await startProgram([join(import.meta.dirname, 'agent/fake-gateway.ts')]);
  const env = { LLM_GATEWAY_URL: gateway.url, LLM_MODEL: 'bench-model', TRUNKLINE_HOME: home };
  const agent = await startProgram(
    [join(import.meta.dirname, '../bin/trunkline.js'), 'agent', '--port', '0'],
    env,
  );
  const times: number[] = [];
  let next = 0;
  const turns = async (until: number) => {
    const worker = async () => {
      while (next < until) {
        const start = performance.now();
        await ask(agent.url, 'What is 12 * 34?', `context-${next++ % count}`);
        times.push(performance.now() - start);
      }
    };
    await Promise.all(Array.from({ length: Math.min(8, count) }, worker));
  };
  try {
    await turns(50);
    times.length = 0;
    const [cpu, began] = [agent.cpu(), performance.now()];
    await turns(50 + Math.max(300, count));
    return {
      cpu: (agent.cpu() - cpu) / times.length,
      perSecond: (1000 * times.length) / (performance.now() - began),
      latency: middle(times),
      resident: agent.resident(),
    };
  } finally {
    await agent.stop();
    await gateway.stop();
  }
}

function flows(home: string): BenchResult[] {
  const measure = (count: number) => {
    const path = join(home, `${count}.db`);
    const store = new FlowStore(path);
    const database = new DatabaseSync(path);
    database
      .prepare(
        `INSERT INTO flows (id, messageId, correlationId, type, status, stage, createdAt, startedAt, completedAt, durationMs, skill, updatedAt, owner, trace)
           WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
           SELECT 'skill-c' || i, 'm' || i, 'c' || i, 'skill', 'complete', 'done', ?2 + i, ?2 + i, ?2 + i + 1, 1, 'work', ?2 + i + 1,
             iif(i % 3 = 0, 'person:ann', 'operator'), '[]' FROM n`,
      )
      .run(count, Date.now() - count);
    database.close();
    const times = {
      operator: timed(() => store.list({ limit: 200, principal: operator })),
      member: timed(() => store.list({ limit: 200, principal: member })),
      since: timed(() => store.list({ limit: 200, principal: operator, since: Date.now() - 3_600_000 })),
    };
    store.close();
    return times;
  };
  const [few, many] = [measure(1000), measure(1_000_000)];
  return compared(few, many, (name) => [`200 flows of a million, ${name}`, 'of a thousand']);
}

async function recall(home: string): Promise<BenchResult[]> {
  const logger = { warn: (fields: object, message: string) => console.error(message, fields) };
  const store = new KnowledgeStore({ path: join(home, 'chunks.db'), logger });
  const questions = queries(asked);
  const found: number[] = [];
  const batch = corpus(100_000);
  for (let count = 0; count < 1_000_000; count += batch.length) {
    store.ingestAll(batch.map((content) => ({ domain: 'bench', content })));
    if (count === 0 || count === 900_000)
      found.push(middle(questions.map((question) => timeOf(() => store.recallByWords(question, 5)))));
  }
  const pages = timed(() => store.page(50, {}));
  await store.close();
  const [few = 0, many = 0] = found;
  return [
    row('memory_recall by words over 1,000,000 chunks, half below', 'ms', many, { 'over 100,000': few }),
    row('a page of 1,000,000 chunks', 'ms', pages, {}),
  ];
}

/** Ten thousand conversations of a thousand turns, which is the most that one keeps. */
function history(home: string): BenchResult[] {
  const measure = (conversations: number) => {
    const directory = join(home, String(conversations));
    const state = openState(directory);
    const path = join(directory, 'turns.db');
    const database = new DatabaseSync(path);
    const began = performance.now();
    fillChats(database, conversations);
    // A log of gigabytes, which no service writes in one go, would slow every look.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    const seconds = Math.round((performance.now() - began) / 1000);
    console.error(`${conversations * 1000} turns: ${seconds} s, ${Math.round(statSync(path).size / 1e6)} MB`);
    const chats = new ChatStore(state);
    const query = { limit: 50, search: '', origins: ['chat'] as const };
    const session = (index: number) => `s${index % conversations}`;
    if (chats.turns(session(0), 50).length !== 50) throw new Error('the conversations have no turns');
    const times = {
      'last 50 turns of a conversation': timed((index) => chats.turns(session(index), 50)),
      '50 turns in its middle': timed((index) => chats.turns(session(index), 50, conversations * 500)),
      'list of 50 conversations': timed(() => chats.list({ ...query, viewer: operator })),
      'list of 50 conversations of a member': timed(() => chats.list({ ...query, viewer: member })),
      'search in what was said': timed(() => chats.search('nowhere', operator, 20), 10),
      'search of a member who has said nothing': timed(() => chats.search('nowhere', stranger, 20), 10),
    };
    state.close();
    return times;
  };
  const [few, many] = [measure(100), measure(10_000)];
  return compared(few, many, (name) => [`${name}, of 10 million turns`, 'of 100,000']);
}

function fillChats(database: DatabaseSync, conversations: number): void {
  database
    .prepare(
      `INSERT INTO chat (session_id, title, state, origin, owner, updated_at)
         WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
         SELECT 's' || i, 'Conversation ' || i, 'completed', 'chat', iif(i % 2 = 0, 'person:ann', 'operator'), ?2 + i FROM n`,
    )
    .run(conversations, Date.now());
  // As they come in: each conversation has its turn. Node binds every number as a real one: 's' || (7 % 100.0) is s7.0.
  database
    .prepare(
      `INSERT INTO chat_turn (task_id, session_id, turn)
         WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 * 1000 - 1)
         SELECT printf('t%09d', i), 's' || (i % CAST(?1 AS INTEGER)),
           '{"task_id":"t' || i || '","session_id":"s' || (i % CAST(?1 AS INTEGER)) || '","state":"completed","entries":[{"kind":"user","text":"What is 12 * 34?"},{"kind":"text","text":"The result is 408."}]}' FROM n`,
    )
    .run(conversations);
}

function compared<Name extends string>(
  few: Record<Name, number>,
  many: Record<Name, number>,
  words: (name: Name) => [name: string, peer: string],
): BenchResult[] {
  return (Object.keys(many) as Name[]).map((key) => {
    const [name, peer] = words(key);
    return row(name, 'ms', many[key], { [peer]: few[key] });
  });
}

function timed(work: (index: number) => unknown, times = asked): number {
  work(0);
  return middle(Array.from({ length: times }, (_, index) => timeOf(() => work(index))));
}

function timeOf(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function middle(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)] ?? 0;
}

function row(
  name: string,
  unit: string,
  ours: number,
  peers: Record<string, number>,
  better: BenchResult['better'] = 'lower',
): BenchResult {
  const [small = 0] = Object.values(peers);
  return { name, unit, ours, peers, ratio: small && ours / small, better, goal: 'within twice' };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const named = process.argv.slice(2);
  console.table(await run(named.length > 0 ? named : undefined));
}
