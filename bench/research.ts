// Research: the pipeline against its critical path, many jobs at once, the citation checker, duplicates, extraction.
import { Readability } from '@mozilla/readability';
import { readOptions } from '@trunkline/config';
import { readSse } from '@trunkline/http';
import { ExtractionPool, fingerprintOf, isNearDuplicate, researchOptions, start } from '@trunkline/research';
import {
  heldOutSets,
  judgedByRules,
  judgedWithModel,
  plantedClaims,
  readOpinions,
  replayOf,
  scoreOf,
} from '@trunkline/research/planted';
import { startModelServer, startSearchServer, temporaryDirectory } from '@trunkline/testing';
import { parseHTML } from 'linkedom';
import { startSlowModel } from './research/model-server.ts';
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

export async function run(): Promise<BenchResult[]> {
  return [...(await pipeline()), ...(await checker()), ...duplicates(), await extraction()];
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

async function withService<Value>(
  environment: Record<string, string>,
  work: (url: string) => Promise<Value>,
): Promise<Value> {
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
    ...environment,
  };
  const service = await start(readOptions(researchOptions, { env, argv: [] }), { logger: quiet as never });
  try {
    return await work(service.url);
  } finally {
    await service.stop();
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

/** On each set what the rules are sure of, and the whole checker where a model's answers to its questions were recorded. */
async function checker(): Promise<BenchResult[]> {
  const rows = [];
  for (const set of heldOutSets()) rows.push(...rulesOn(set), ...(await wholeCheckerOn(set)));
  return rows;
}

const KINDS: Record<string, string> = {
  'held-out': 'put freely',
  'held-out-close': 'in words of the page',
  'reports-a': 'of reports, by author A',
  'reports-b': 'of reports, by author B',
};
const kindOf = (set: string) => KINDS[set] ?? `of ${set}`;

function rulesOn(set: string): BenchResult[] {
  const { total, sure } = scoreOf(judgedByRules(plantedClaims(set)));
  const claims = `${total} claims ${kindOf(set)}`;
  const right = `citation rules where they are sure, right (${sure.total} of ${claims})`;
  return [
    result(
      `citation rules, share of claims they are sure of (${claims})`,
      'share',
      sure.total / total,
      {},
      'higher',
    ),
    ...(sure.total === 0 ? [] : [share(right, sure.right / sure.total)]),
  ];
}

async function wholeCheckerOn(set: string): Promise<BenchResult[]> {
  const opinions = readOpinions(set);
  if (opinions === undefined) return [];
  const model = await startModelServer({ script: replayOf(opinions) });
  try {
    const { precision, recall, total } = scoreOf(await judgedWithModel(plantedClaims(set), model.url));
    const words = (what: string) =>
      `citation checker with a model's recorded answers, ${what} (${total} claims ${kindOf(set)})`;
    return [share(words('precision'), precision), share(words('recall'), recall)];
  } finally {
    await model.stop();
  }
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

const ROUNDS = 30;

/** Pages a second through the threads, against Readability on the same pages in the main thread. */
async function extraction(): Promise<BenchResult> {
  const html = `<html><head><title>T</title></head><body><nav>Menu</nav><main>${'<section><h2>Heading</h2><p>A paragraph of text with <a href="/x">a link</a> and words enough to be read as prose by anyone.</p></section>'.repeat(150)}</main></body></html>`;
  const pool = new ExtractionPool();
  const page = { bytes: new Uint8Array(), text: html, type: 'text/html', name: 'page' };
  await Promise.all([pool.extract(page), pool.extract(page)]);
  const ours = await rate(() => Promise.all(Array.from({ length: ROUNDS }, () => pool.extract(page))));
  await pool.stop();
  const readability = () => new Readability(parseHTML(html).document as unknown as Document).parse();
  readability();
  const peer = await rate(async () => {
    for (let round = 0; round < ROUNDS; round += 1) readability();
  });
  return result('extraction', 'pages/s', ours, { 'Readability on linkedom': peer }, 'higher');
}

async function rate(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return ROUNDS / ((performance.now() - begin) / 1000);
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

if (import.meta.main) console.table(await run());
