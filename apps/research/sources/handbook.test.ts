import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ChatRequestBody,
  type ScriptedReply,
  startModelServer,
  temporaryDirectory,
} from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import type { Claim, Evidence, JobSource } from '../api-types.ts';
import { type HandbookClaim, handbookClaims, sections } from '../fixtures/handbook-claims.ts';
import { askedFor, clientOf } from '../fixtures/lab.ts';
import { yesSayer } from '../fixtures/planted/planted.ts';
import { startResearch } from '../fixtures/service.ts';

// real-services.sh starts the services, and names the folder of Debian's handbook, whose pages they have.
const { TEST_SEARXNG_URL = '', TEST_ENCYCLOPEDIA_URL = '', TEST_HANDBOOK = '' } = process.env;
const TIMEOUT_MS = 600_000;

interface Question {
  number: number;
  claim: string;
  excerpt: string;
}
type Judge = (question: Question) => Promise<{ verdict: string; words: string }>;

/** Says of a true claim which words of the page show it, of everything else that the page does not say it. */
const truthTeller: Judge = async ({ claim, excerpt }) => {
  const known = handbookClaims.find((each) => each.isTrue && sameWords(each.claim, claim));
  const words = known?.shows === undefined ? undefined : copyOf(known.shows, excerpt);
  return words === undefined ? { verdict: 'not_in_passage', words: '' } : { verdict: 'supported', words };
};

const sayYes: Judge = async (question) => {
  const [opinion] = await yesSayer([{ ...question, title: '' }]);
  return { verdict: 'supported', words: opinion?.words ?? '' };
};

/** What the checker made of a claim. */
interface Outcome extends HandbookClaim {
  /** Missing where no section had the page. */
  found?: Claim;
}

interface Measured {
  name: string;
  judge?: Judge;
  environment: Record<string, string>;
  /** True claims held and false ones marked on 2026-11-18; the run may only get better. */
  least: { held: number; marked: number };
}

const judges: Measured[] = [
  {
    name: 'a judge that knows the truth',
    judge: truthTeller,
    environment: {},
    least: { held: 15, marked: 23 },
  },
  {
    name: 'a judge that says yes to everything',
    judge: sayYes,
    environment: {},
    least: { held: 10, marked: 18 },
  },
  {
    name: 'the built-in model alone',
    environment: { RESEARCH_MODEL_CHECKS: '0' },
    least: { held: 10, marked: 18 },
  },
];

describe.skipIf(TEST_HANDBOOK === '')('a report about the handbook with 40 planted claims', () => {
  it.each(judges)('$name', { timeout: TIMEOUT_MS }, async ({ name, judge, environment, least }) => {
    const outcomes = await report(environment, judge);
    const held = outcomes.filter(({ isTrue, found }) => isTrue && found?.supported);
    const marked = outcomes.filter(({ isTrue, found }) => !isTrue && found?.supported === false);
    process.stdout.write(
      `${name}: held ${held.length} of 17 true claims, marked ${marked.length} of 23 false ones\n${outcomes.map(lineOf).join('\n')}\n`,
    );
    expect(outcomes.filter(({ found }) => found === undefined).map(lineOf)).toEqual([]);
    expect(held.length).toBeGreaterThanOrEqual(least.held);
    expect(marked.length).toBeGreaterThanOrEqual(least.marked);
  });
});

/** Runs a job whose writer plants the claims. */
async function report(environment: Record<string, string>, judge?: Judge): Promise<Outcome[]> {
  const home = temporaryDirectory();
  const planted = new Set<string>();
  let evidence: () => Promise<Evidence> = () => Promise.reject(new Error('The job has not started.'));
  const model = await startModelServer({
    script: async (request) => {
      const asked = askedFor(request);
      if (asked === 'scope') return JSON.stringify({ dimensions: sections });
      if (asked === 'summary')
        return JSON.stringify({ summary: 'As the handbook says.', keyFinding: 'None.' });
      if (asked === 'gaps') return JSON.stringify({ gaps: [] });
      if (asked === 'section') return section(promptOf(request), (await evidence()).sources, planted);
      if (asked === 'checks') return await verdicts(promptOf(request), judge);
      return JSON.stringify({ repairs: [] });
    },
  });
  const service = await startResearch(home.path, {
    SEARXNG_URL: TEST_SEARXNG_URL,
    ENCYCLOPEDIA_URL: TEST_ENCYCLOPEDIA_URL,
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'key',
    LLM_MODEL: 'writer',
    RESEARCH_CLAIM_MODEL: '1',
    RESEARCH_SOURCES_PER_DIMENSION: '20',
    ...environment,
  });
  try {
    const client = clientOf(service.url);
    const id = await client.startJob({ query: 'Debian for administrators' });
    evidence = async () => (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as Evidence;
    await client.events(id);
    expect(await client.status(id)).toMatchObject({ status: 'complete' });
    const { claims } = await evidence();
    return handbookClaims.map((each) => {
      const found = claims.find(({ sentence }) => sameWords(sentence, each.claim));
      return { ...each, ...(found && { found }) };
    });
  } finally {
    await service.stop();
    await model.stop();
    home.remove();
  }
}

const promptOf = ({ messages }: ChatRequestBody) => String(messages[1]?.content);

/** The claims on the pages whose passages the prompt has, each with the number of its page. */
function section(prompt: string, sources: JobSource[], planted: Set<string>): ScriptedReply {
  const numbers = new Set([...prompt.matchAll(/^\[(\d+)\] /gm)].map(([, number]) => Number(number)));
  const sentences = handbookClaims.flatMap(({ name, page, claim }) => {
    const number = sources.findIndex((source) => source.state === 'read' && isPage(source, page)) + 1;
    if (!numbers.has(number) || planted.has(name)) return [];
    planted.add(name);
    return [`${claim} [${number}].`];
  });
  return sentences.join('\n\n');
}

function isPage({ url, title, engine }: JobSource, page: string): boolean {
  return engine === 'mediawiki' ? title === titleOf(page) : url.endsWith(`/${page}.html`);
}

/** The title of a page, without the number of its section. */
function titleOf(page: string): string {
  const [, title = ''] =
    /<title[^>]*>([^<]*)/.exec(readFileSync(join(TEST_HANDBOOK, `${page}.html`), 'utf8')) ?? [];
  return title.replace(/^\S+\s+/, '');
}

async function verdicts(prompt: string, judge?: Judge): Promise<ScriptedReply> {
  const given = await Promise.all(
    questionsIn(prompt).map(async (question) => ({ claim: question.number, ...(await judge?.(question)) })),
  );
  return JSON.stringify({ verdicts: given });
}

function questionsIn(prompt: string): Question[] {
  const passages = new Map(
    [...prompt.matchAll(/^<passage number="(\d+)" title=".*">\n([\s\S]*?)\n<\/passage>$/gm)].map(
      ([, number, text = '']) => [number, text],
    ),
  );
  return [...prompt.matchAll(/^Claim (\d+) \(passage (\d+)\): (.*)$/gm)].map(
    ([, number, passage, claim = '']) => ({
      number: Number(number),
      claim,
      excerpt: passages.get(passage) ?? '',
    }),
  );
}

const lettersOf = (text: string) => [...text.matchAll(/[\p{L}\p{N}]/gu)];
const lettersIn = (text: string) => lettersOf(text).join('').toLowerCase();

/** Whether two texts are the same but for marks, spaces and case. */
function sameWords(left: string, right: string): boolean {
  const bare = (text: string) => lettersIn(text.replace(/\[[\d?]+\]/g, ''));
  return bare(left) === bare(right);
}

/** The stretch of the excerpt that has these words, letter by letter, whatever marks and spaces stand between them; " … " leaves words out. */
function copyOf(words: string, excerpt: string): string | undefined {
  const letters = lettersOf(excerpt);
  const bare = letters.map(([letter]) => letter.toLowerCase()).join('');
  const pieces = words.split(' … ').map(lettersIn);
  const places = pieces.map((piece) => bare.indexOf(piece));
  const [first, last] = [
    letters[places[0] ?? -1],
    letters[(places.at(-1) ?? -1) + (pieces.at(-1) ?? '').length - 1],
  ];
  return places.includes(-1) || first === undefined || last === undefined
    ? undefined
    : excerpt.slice(first.index, last.index + last[0].length);
}

function lineOf({ name, kind, isTrue, claim, found }: Outcome): string {
  if (found === undefined) return `- ${name} not written: ${claim}`;
  const { supported, judge, certain, score, reason, passage } = found;
  const mark = supported === isTrue ? ' ' : '!';
  return `${mark} ${name} ${supported ? 'held' : 'marked'} by ${judge}${certain ? ', sure' : ''}, ${score.toFixed(2)}, ${reason}; ${kind}; ${claim} <${passage.replace(/\s+/g, ' ').slice(0, 160)}>`;
}
