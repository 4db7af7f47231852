import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@trunkline/storage';
import MiniSearch from 'minisearch';
import { bundledEmbedder } from '../apps/agent/stores/knowledge/embedder.ts';
import { knowledgeMigrations } from '../apps/agent/stores/knowledge/full-text.ts';
import { KnowledgeStore } from '../apps/agent/stores/knowledge/knowledge-store.ts';
import { corpus, queries } from './memory/corpus.ts';
import type { BenchResult } from './result.ts';

const CHUNKS = 100_000;
const RANKED = 10;
const logger = { warn: (fields: object, message: string) => console.error(message, fields) };

/** Recall over 100,000 chunks beside a LIKE scan and an index in memory; ingest; and how good recall is. */
export async function run(): Promise<BenchResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  try {
    return [...(await speed(home)), ...(await quality(home))];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function speed(home: string): Promise<BenchResult[]> {
  const texts = corpus(CHUNKS);
  const path = join(home, 'speed.db');
  const store = new KnowledgeStore({ path, logger });
  const ours = time(() => store.ingestAll(texts.map((content) => ({ domain: 'bench', content }))));
  const memory = new MiniSearch<{ id: number; content: string }>({ fields: ['content'] });
  const peer = time(() => memory.addAll(texts.map((content, id) => ({ id, content }))));
  const asked = queries(200);
  const database = openDatabase(path, { migrations: knowledgeMigrations });
  const recall = {
    ours: p95(asked, (query) => store.recallByWords(query, 5)),
    'LIKE scan': p95(asked.slice(0, 15), (query) => scan(database, query)),
    minisearch: p95(asked, (query) => memory.search(query).slice(0, 5)),
  };
  database.close();
  await store.close();
  return [
    result('memory_recall p95 over 100,000 chunks', 'ms', recall, 'lower'),
    result(
      'memory ingest',
      'chunks/s',
      { ours: CHUNKS / ours, 'minisearch (in memory)': CHUNKS / peer },
      'higher',
    ),
  ];
}

function scan(database: ReturnType<typeof openDatabase>, query: string): unknown[] {
  const words = query.split(' ');
  const where = words.map(() => 'content LIKE ?').join(' OR ');
  const sql = `SELECT id, content FROM chunks WHERE ${where} ORDER BY id DESC LIMIT 5000`;
  return database.prepare(sql).all(...words.map((word) => `%${word}%`));
}

/** How often the right memory is the first answer and how far up it stands, for questions in other words than the memory's. */
async function quality(home: string): Promise<BenchResult[]> {
  const embedder = bundledEmbedder();
  await embedder.embed(['The model is loaded with the first text.']);
  const begin = process.cpuUsage();
  await embedder.embed(memories);
  const { user, system } = process.cpuUsage(begin);
  const store = new KnowledgeStore({ path: join(home, 'quality.db'), embedder, logger });
  store.ingestAll(memories.map((content) => ({ domain: 'bench', content })));
  await store.settled();
  const first = { words: 0, meaning: 0, both: 0 };
  const ranks = { words: 0, meaning: 0, both: 0 };
  for (const { question, answer } of labelled) {
    const found = {
      words: store.recallByWords(question, RANKED),
      meaning: await store.recallByMeaning(question, RANKED),
      both: await store.recall(question, RANKED),
    };
    for (const way of ['words', 'meaning', 'both'] as const) {
      const place = found[way].findIndex(({ content }) => content === answer);
      if (place === 0) first[way] += 1;
      if (place >= 0) ranks[way] += 1 / (place + 1) / labelled.length;
    }
  }
  await store.close();
  const share = (count: number) => Math.round((100 * count) / labelled.length);
  const figures = {
    ours: share(first.both),
    'words alone': share(first.words),
    'meaning alone': share(first.meaning),
  };
  const mean = { ours: ranks.both, 'words alone': ranks.words, 'meaning alone': ranks.meaning };
  const cost = (user + system) / 1000 / memories.length;
  return [
    result('memory_recall, right answer first', '%', figures, 'higher'),
    result('memory_recall, mean reciprocal rank', 'of 1', mean, 'higher'),
    { name: 'processor time to embed a text', unit: 'ms', ours: cost, peers: {}, ratio: 0, better: 'lower' },
  ];
}

function time(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}

function p95(asked: readonly string[], ask: (query: string) => unknown): number {
  const times = asked.map((query) => {
    const start = performance.now();
    ask(query);
    return performance.now() - start;
  });
  return times.sort((left, right) => left - right)[Math.floor(times.length * 0.95)] ?? 0;
}

function result(
  name: string,
  unit: string,
  figures: { ours: number } & Record<string, number>,
  better: 'lower' | 'higher',
): BenchResult {
  const { ours, ...peers } = figures;
  const best = better === 'lower' ? Math.min(...Object.values(peers)) : Math.max(...Object.values(peers));
  return { name, unit, ours, peers, ratio: ours / best, better };
}

if (import.meta.main) console.log(await run());

/** What an agent was told to remember, and what it may be asked later; half of the questions share no telling word with their answer. */
const labelled: readonly { question: string; answer: string }[] = [
  {
    question: 'When does the dentist want to see me?',
    answer: 'The dentist appointment is on Tuesday at 9.',
  },
  {
    question: 'Which beverage does she prefer in the morning?',
    answer: 'Maria drinks tea, never coffee, at breakfast.',
  },
  {
    question: 'How do I get into the holiday home?',
    answer: 'The key of the cabin lies under the blue flower pot.',
  },
  {
    question: 'What is the wifi password?',
    answer: 'The wifi password of the office is taped below the printer.',
  },
  { question: 'Who fixes our heating?', answer: 'The boiler is serviced by Mr Huber every autumn.' },
  { question: 'What food must we avoid for Tom?', answer: 'Tom is allergic to peanuts and shellfish.' },
  {
    question: 'Where did we park the car?',
    answer: 'The car stands on level 3 of the garage at the station.',
  },
  { question: 'Where is our automobile?', answer: 'The car stands on level 3 of the garage at the station.' },
  { question: 'How old is the dog?', answer: 'Our dog Rex was born in 2019.' },
  { question: 'What pet do we have?', answer: 'Our dog Rex was born in 2019.' },
  { question: 'When are invoices due?', answer: 'Invoices must be paid within thirty days.' },
  {
    question: 'How long do customers have to send the money?',
    answer: 'Invoices must be paid within thirty days.',
  },
  {
    question: 'Which train goes to Bern?',
    answer: 'The train to Bern leaves from platform 7 at half past every hour.',
  },
  {
    question: 'What did the boss say about working from home?',
    answer: 'Remote work is allowed on Mondays and Fridays, the manager decided.',
  },
  {
    question: 'How do I restart the server?',
    answer: 'To restart the server, run the deploy script with the flag restart.',
  },
  {
    question: 'What is a good present for grandmother?',
    answer: 'Grandma collects porcelain owls and loves gifts of that kind.',
  },
  { question: 'When is the garbage picked up?', answer: 'The trash is collected on Thursday before seven.' },
  {
    question: 'Where can I leave my bicycle?',
    answer: 'Bikes may be stored in the cellar next to the laundry.',
  },
];

const memories: readonly string[] = [
  ...new Set(labelled.map(({ answer }) => answer)),
  'The quarterly report is written by the finance team.',
  'The piano needs to be tuned before the concert.',
  'The museum is closed on Mondays.',
  'Anna moved to Lisbon last spring.',
  'The recipe calls for two cups of flour.',
  'The meeting room on the second floor seats twelve.',
  'The warranty of the washing machine ends in June.',
  'The football match was cancelled because of snow.',
];
