// Research: the pipeline against its critical path, many jobs at once, the citation checker, duplicates, extraction.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Readability } from '@mozilla/readability';
import { readOptions } from '@trunkline/config';
import { ExtractionPool, extract, type RawDocument } from '@trunkline/documents';
import { type Layout, layouts, scoreOf as scoreLayouts } from '@trunkline/documents/layouts';
import { readSse } from '@trunkline/http';
import { fingerprintOf, isNearDuplicate, researchOptions, start } from '@trunkline/research';
import { startSearchServer, temporaryDirectory } from '@trunkline/testing';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { NODE_FLAGS } from '../bin/find-node.js';
import { startProgram } from './agent/processes.ts';
import { checker } from './research/checker.ts';
import { pages } from './research/pages.ts';
import { textPairs } from './research/text-pairs.ts';
import type { BenchResult } from './result.ts';

const MODEL_MS = 200;
const SEARCH_MS = 100;
const PAGE_MS = 150;
/** Scope, search, read, sum up, evaluate, write, one after the other. */
const CRITICAL_MS = MODEL_MS + SEARCH_MS + PAGE_MS + MODEL_MS + MODEL_MS + MODEL_MS;
/** The same where writing need not wait for the evaluation. */
const SHORTEST_MS = CRITICAL_MS - MODEL_MS;
const JOBS = 50;
const WARM_UP_JOBS = 20;
const COST_JOBS = 20;

export async function run(): Promise<BenchResult[]> {
  return [
    ...(await pipeline()),
    await cost(),
    ...(await checker()),
    ...duplicates(),
    ...(await extraction()),
  ];
}

async function pipeline(): Promise<BenchResult[]> {
  const parallel = await withService({}, async (url) => {
    await research(url);
    const single = await median(() => research(url));
    const begin = performance.now();
    await Promise.all(Array.from({ length: JOBS }, () => research(url)));
    return { ...single, jobsPerSecond: JOBS / ((performance.now() - begin) / 1000) };
  });
  const sequential = await withService(
    { RESEARCH_PARALLEL_DIMENSIONS: '1', RESEARCH_MODEL_CALLS: '1', RESEARCH_PER_HOST: '1' },
    research,
  );
  return [
    result(
      'one job, fixed latencies',
      'ms',
      parallel.totalMs,
      { 'critical path': CRITICAL_MS },
      'lower',
      'within 1.3 of the critical path',
    ),
    result(
      'one job, sections written while gaps are looked for',
      'ms',
      parallel.totalMs,
      { 'shortest path': SHORTEST_MS },
      'lower',
    ),
    result(
      'one job against one step at a time',
      'ms',
      parallel.totalMs,
      { sequential: sequential.totalMs },
      'lower',
    ),
    result(
      'time to the first source',
      'ms',
      parallel.firstSourceMs,
      { 'critical path': MODEL_MS + SEARCH_MS },
      'lower',
    ),
    result(
      `${JOBS} jobs at once`,
      'jobs/s',
      parallel.jobsPerSecond,
      { 'one after the other': 1000 / parallel.totalMs },
      'higher',
    ),
  ];
}

/** The service as shipped, in a process of its own with its threads; one job after the other. */
async function cost(): Promise<BenchResult> {
  const cpu = await withServers(async (env) => {
    const service = await startProgram(
      // As `npm run research` starts it.
      [
        ...NODE_FLAGS,
        '--min-semi-space-size=8',
        join(import.meta.dirname, '../bin/trunkline.js'),
        'research',
      ],
      env,
    );
    const jobs = async (count: number) => {
      for (let job = 0; job < count; job += 1) await research(service.url);
    };
    try {
      await jobs(WARM_UP_JOBS);
      const before = service.cpu();
      await jobs(COST_JOBS);
      return (service.cpu() - before) / COST_JOBS;
    } finally {
      await service.stop();
    }
  });
  return result(`processor time of a job (${pages.length} pages)`, 'ms', cpu, {}, 'lower', 'at most 73');
}

async function withService<Value>(
  environment: Record<string, string>,
  work: (url: string) => Promise<Value>,
): Promise<Value> {
  return withServers(async (env) => {
    const options = readOptions(researchOptions, { env: { ...env, ...environment }, argv: [] });
    const service = await start(options, { logger: quiet as never });
    try {
      return await work(service.url);
    } finally {
      await service.stop();
    }
  });
}

/** With a search engine, its pages and a model, and the settings that lead to them. */
async function withServers<Value>(work: (env: Record<string, string>) => Promise<Value>): Promise<Value> {
  const home = temporaryDirectory();
  const [search, model] = [
    await startSearchServer({ pages, searchLatencyMs: SEARCH_MS, pageLatencyMs: PAGE_MS }),
    await startSlowModel(MODEL_MS),
  ];
  const env = {
    TRUNKLINE_HOME: home.path,
    PORT: '0',
    SEARXNG_URL: search.searxngUrl,
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'bench',
    LLM_MODEL: 'bench',
    RESEARCH_HOST_PAUSE_MS: '0',
    RESEARCH_PER_HOST: '32',
    RESEARCH_MODEL_CALLS: '256',
    FETCH_ALLOWED_CIDRS: '127.0.0.0/8',
  };
  try {
    return await work(env);
  } finally {
    await Promise.all([search.stop(), model.stop()]);
    home.remove();
  }
}

async function research(url: string): Promise<{ totalMs: number; firstSourceMs: number }> {
  const begin = performance.now();
  const started = await fetch(`${url}/api/research/deep`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'tidal power' }),
  });
  const { researchId } = (await started.json()) as { researchId: string };
  let firstSourceMs = 0;
  for await (const { data } of readSse((await fetch(`${url}/api/research/deep/${researchId}`)) as never)) {
    const { type } = JSON.parse(data) as { type: string };
    if (type === 'dimension_source') firstSourceMs ||= performance.now() - begin;
    if (type === 'error') throw new Error(data);
  }
  return { totalMs: performance.now() - begin, firstSourceMs };
}

/** The middle one of three runs. */
async function median(work: () => Promise<{ totalMs: number; firstSourceMs: number }>) {
  const runs = [await work(), await work(), await work()].toSorted(
    (left, right) => left.totalMs - right.totalMs,
  );
  return runs[1] ?? { totalMs: 0, firstSourceMs: 0 };
}

/** Each pair in both orders, as pages of two sites. */
function duplicates(): BenchResult[] {
  const judged = textPairs().flatMap(({ left, right, isCopy }) => {
    const [one, two] = [
      fingerprintOf(left, 'https://one.example'),
      fingerprintOf(right, 'https://two.example'),
    ];
    return [isNearDuplicate(one, two), isNearDuplicate(two, one)].map((isFound) => ({ isCopy, isFound }));
  });
  const copies = judged.filter(({ isCopy }) => isCopy);
  const found = judged.filter(({ isFound }) => isFound);
  const right = found.filter(({ isCopy }) => isCopy).length;
  return [
    share(`near duplicates, precision (${judged.length} pairs)`, right / Math.max(1, found.length)),
    share(`near duplicates, recall (${copies.length} copies)`, right / copies.length),
  ];
}

const ROUNDS = 10;

/** Our reader and Readability with turndown on the same layouts: what they keep, what they drop, and processor time a page. */
async function extraction(): Promise<BenchResult[]> {
  const set = layouts();
  const pages = set.map(({ html }) => ({ bytes: Buffer.from(html), type: 'text/html', name: 'page' }));
  const turndown = new TurndownService();
  const readability = (html: string) => {
    const { document } = parseHTML(html);
    const article = new Readability(document as unknown as Document).parse();
    return `${article?.title ?? ''}

${turndown.turndown(article?.content ?? '')}`;
  };
  const ours = scoreLayouts(
    await Promise.all(
      pages.map(async (page, at) => {
        const { text, mainLength } = await extract(page);
        return { layout: set[at] as Layout, text, main: text.slice(0, mainLength) };
      }),
    ),
  );
  const peer = scoreLayouts(
    set.map((layout) => {
      const text = readability(layout.html);
      return { layout, text, main: text };
    }),
  );
  const cpu = { ours: 0, peer: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    cpu.ours += await processorMs(async () => {
      for (const page of pages) await extract(page);
    });
    cpu.peer += await processorMs(async () => {
      for (const { html } of set) readability(html);
    });
  }
  const name = (what: string) => `extraction of ${set.length} layouts, ${what}`;
  const row = (
    what: string,
    unit: string,
    mine: number,
    other: number,
    better: 'lower' | 'higher',
    goal?: string,
  ) => result(name(what), unit, mine, { 'Readability and turndown': other }, better, goal);
  const perPage = ROUNDS * set.length;
  return [
    row('text kept', 'share', ours.kept, peer.kept, 'higher', '0.98'),
    row('main text in the main part', 'share', ours.inMain, peer.inMain, 'higher', '0.98'),
    row('boilerplate in the main part', 'share', ours.boilerplate, peer.boilerplate, 'lower', '0.02'),
    row('hidden texts shown', 'texts', ours.leaked, peer.leaked, 'lower', '0'),
    row('processor time', 'ms/page', cpu.ours / perPage, cpu.peer / perPage, 'lower'),
    await offThread(pages),
  ];
}

/** The share of the processor time of extraction that the service's own thread spends. */
async function offThread(pages: readonly RawDocument[]): Promise<BenchResult> {
  const pool = new ExtractionPool();
  const all = () => Promise.all(pages.map((page) => pool.extract(page)));
  await all();
  const own = process.threadCpuUsage();
  const begin = process.cpuUsage();
  await all();
  const { user, system } = process.threadCpuUsage(own);
  const whole = process.cpuUsage(begin);
  await pool.stop();
  const name = 'extraction, share of its processor time on the main thread';
  return result(name, 'share', (user + system) / (whole.user + whole.system), {}, 'lower');
}

async function processorMs(work: () => Promise<void>): Promise<number> {
  const begin = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

function share(what: string, value: number): BenchResult {
  return result(what, 'share', value, {}, 'higher', '0.95');
}

function result(
  name: string,
  unit: string,
  ours: number,
  peers: Record<string, number>,
  better: 'lower' | 'higher',
  goal?: string,
): BenchResult {
  const values = Object.values(peers).filter((value) => value > 0);
  const best = better === 'lower' ? Math.min(...values) : Math.max(...values);
  return {
    name,
    unit,
    ours,
    peers,
    ratio: values.length === 0 ? 0 : ours / best,
    better,
    ...(goal !== undefined && { goal }),
  };
}

const nothing = () => undefined;
const quiet = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
  trace: nothing,
  child: () => quiet,
};

const DIMENSIONS = ['Stations', 'Cost', 'History', 'Wildlife'];

/** An OpenAI-compatible model that takes the same time for every call and answers what research asks for. */
async function startSlowModel(latencyMs: number): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    text(request)
      .then(async (body) => {
        await delay(latencyMs);
        reply(response, JSON.parse(body) as { messages: { content: unknown }[] });
      })
      .catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function reply(response: ServerResponse, { messages }: { messages: { content: unknown }[] }): void {
  const [system, prompt] = messages.map(({ content }) => String(content));
  const content = answerTo(system ?? '', prompt ?? '');
  const body = {
    id: 'answer',
    object: 'chat.completion',
    created: 0,
    model: 'bench',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function answerTo(system: string, prompt: string): string {
  if (system.startsWith('You plan research'))
    return JSON.stringify({
      dimensions: DIMENSIONS.map((name) => ({ name, queries: [`${name.toLowerCase()} of tidal power`] })),
    });
  if (system.startsWith('You sum up'))
    return JSON.stringify({ summary: 'A summary.', keyFinding: 'A finding.' });
  if (system.startsWith('You judge')) return JSON.stringify({ gaps: [] });
  if (system.startsWith('You check citations')) return JSON.stringify({ verdicts: [] });
  const [, number = '1', sentence = ''] = /^\[(\d+)\] ([^.]+\.)/m.exec(prompt) ?? [];
  return `${sentence} [${number}]`;
}

// `node bench/research.ts cost` measures the processor time of a job alone.
if (import.meta.main) console.table(process.argv[2] === 'cost' ? [await cost()] : await run());
