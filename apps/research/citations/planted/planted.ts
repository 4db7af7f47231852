import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createModelGateway } from '@trunkline/llm';
import { z } from 'zod';
import { answerSchema, createCitationJudge } from '../../research/citation-judge.ts';
import { ResearchModel } from '../../research/model.ts';
import { checkClaim, type Verdict } from '../check.ts';
import { type CheckedDocument, prepareDocument } from '../document.ts';
import { type CheckedLine, CitationChecker } from '../report.ts';
import type { SecondJudge } from '../second-judge.ts';

const TIMEOUT_MS = 60_000;

/** What a real model answered when it was asked about a planted claim. */
const opinionSchema = z.object({
  title: z.string(),
  ...answerSchema.shape.verdicts.element.shape,
  claim: z.string(),
});

/** A claim made up for a passage, and whether the passage bears it out. */
export interface PlantedClaim {
  title: string;
  passage: string;
  claim: string;
  isTrue: boolean;
}

/** How well true citations are told from false ones, and how well the checker knows what it knows. */
export interface CheckerScore {
  total: number;
  /** Of all claims that are let through, the share that is true. */
  precision: number;
  /** Of all true claims, the share that is let through. */
  recall: number;
  /** Of the claims that the checker is sure about, how many are judged rightly. */
  sure: { total: number; right: number; supported: Share; unsupported: Share };
  mistakes: string[];
}

/** One of the two sure verdicts: how often it was given, and how often rightly. */
interface Share {
  total: number;
  right: number;
}

/** The set that the rules were made with. The others only measure them: rules are never changed to fit those. `held-out` has claims
 * that are put freely, `held-out-close` has claims that keep the words of the page, as the writer of reports is told to;
 * `reports-a` and `reports-b` have sentences of reports by authors who never saw the rules. */
const TUNING = 'tuning';

/** The sets of this folder that only measure. */
export function heldOutSets(): string[] {
  const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'));
  return names.map((name) => name.slice(0, -'.txt'.length)).filter((name) => name !== TUNING);
}

/** Where a set lies: the name of one in this folder, or the path of any text file. */
function fileOf(set: string): string {
  return set.endsWith('.txt') ? set : join(import.meta.dirname, `${set}.txt`);
}

export function plantedClaims(set: string): PlantedClaim[] {
  const text = readFileSync(fileOf(set), 'utf8');
  return text
    .split(/^# /m)
    .slice(1)
    .flatMap((block) => {
      const [title = '', ...lines] = block.trim().split('\n');
      const isClaim = (line: string) => /^[+-] /.test(line);
      const passage = lines.filter((line) => !isClaim(line)).join('\n');
      return lines
        .filter(isClaim)
        .map((line) => ({ title, passage, claim: line.slice(2), isTrue: line.startsWith('+') }));
    });
}

export interface Judged {
  planted: PlantedClaim;
  verdict: Verdict;
}

/** The verdicts of the rules alone. */
export function judgedByRules(claims: readonly PlantedClaim[]): Judged[] {
  const documents = new Map<string, CheckedDocument>();
  return claims.map((planted) => {
    const { title, passage, claim } = planted;
    const document = documents.get(passage) ?? prepareDocument(title, passage);
    documents.set(passage, document);
    return { planted, verdict: checkClaim(claim, document) };
  });
}

export function scoreOf(judged: readonly Judged[]): CheckerScore {
  const passed = judged.filter(({ verdict }) => verdict.supported);
  const sure = judged.filter(({ verdict }) => verdict.certain);
  const right = passed.filter(isRight).length;
  return {
    total: judged.length,
    precision: right / Math.max(1, passed.length),
    recall: right / Math.max(1, judged.filter(({ planted }) => planted.isTrue).length),
    sure: {
      ...shareOf(sure),
      supported: shareOf(sure.filter(({ verdict }) => verdict.supported)),
      unsupported: shareOf(sure.filter(({ verdict }) => !verdict.supported)),
    },
    mistakes: judged.filter((each) => !isRight(each)).map(describeMistake),
  };
}

function isRight({ planted, verdict }: Judged): boolean {
  return verdict.supported === planted.isTrue;
}

function shareOf(judged: readonly Judged[]): Share {
  return { total: judged.length, right: judged.filter(isRight).length };
}

function describeMistake({ planted, verdict }: Judged): string {
  const kind = `${planted.isTrue ? 'missed' : 'passed'}${verdict.certain ? ', and was sure' : ''}`;
  return `${kind}: ${planted.claim} (${verdict.score.toFixed(2)} ${verdict.reason})`;
}

export type RecordedOpinion = z.infer<typeof opinionSchema>;

/** The recorded opinions on a set; undefined where there are none. */
export function readOpinions(set: string): RecordedOpinion[] | undefined {
  try {
    return z.array(opinionSchema).parse(JSON.parse(readFileSync(opinionsFile(set), 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Lays them beside the set, and says where. */
export function writeOpinions(set: string, opinions: readonly RecordedOpinion[]): string {
  const file = opinionsFile(set);
  writeFileSync(file, `${JSON.stringify(opinions, null, 2)}\n`);
  return file;
}

function opinionsFile(set: string): string {
  return fileOf(set).replace(/\.txt$/, '.opinions.json');
}

/** What an answer says about each claim of the prompt it was given to: one verdict a claim. */
export function opinionsIn(prompt: string, answer: unknown): RecordedOpinion[] {
  const { verdicts } = answerSchema.parse(answer);
  const asked = questionsIn(prompt);
  if (verdicts.length !== asked.length)
    throw new Error(
      `The answer has ${verdicts.length} verdicts on ${asked.length} claims: give one for each.`,
    );
  return asked.map(({ number, claim, title }) => {
    const own = verdicts.find((verdict) => verdict.claim === number);
    if (own === undefined) throw new Error(`The answer has no verdict on claim ${number}: ${claim}`);
    return { claim, title, verdict: own.verdict, words: own.words };
  });
}

interface ChatRequest {
  messages: readonly { content?: unknown }[];
}

interface Refusal {
  fault: 'status';
  status: number;
  message: string;
}

/** Answers as the model did whose opinions were recorded; a claim without one is refused, never guessed. */
export function replayOf(opinions: readonly RecordedOpinion[]): (request: ChatRequest) => string | Refusal {
  const keyOf = ({ title, claim }: { title: string; claim: string }) => `${title}\n${claim}`;
  const known = new Map(opinions.map((opinion) => [keyOf(opinion), opinion]));
  return ({ messages }) => {
    const asked = questionsIn(String(messages.at(-1)?.content));
    const unknown = asked.find((question) => !known.has(keyOf(question)));
    if (unknown !== undefined)
      return { fault: 'status', status: 400, message: `no opinion was recorded on "${unknown.claim}"` };
    const verdicts = asked.map((question) => ({ ...known.get(keyOf(question)), claim: question.number }));
    return JSON.stringify({ verdicts });
  };
}

/** The claims that a prompt of the citation judge asks about, each with the title of its page. */
function questionsIn(prompt: string): { number: number; claim: string; title: string }[] {
  const titles = new Map(
    [...prompt.matchAll(/^<passage number="(\d+)" title="(.*)">$/gm)].map(([, number, title]) => [
      number,
      title,
    ]),
  );
  const behindPassages = prompt.slice(prompt.lastIndexOf('</passage>'));
  return [...behindPassages.matchAll(/^Claim (\d+) \(passage (\d+)\): (.*)$/gm)].map(
    ([, number, passage, claim = '']) => ({
      number: Number(number),
      claim,
      title: titles.get(passage) ?? '',
    }),
  );
}

/** The verdicts of the whole checker: the rules, and the model at the address for what they are not sure of. */
export async function judgedWithModel(claims: readonly PlantedClaim[], modelUrl: string): Promise<Judged[]> {
  const problems = new Set<string>();
  const judge = judgeAt(modelUrl, problems);
  const judged: Judged[] = [];
  for (const page of Map.groupBy(claims, ({ passage }) => passage).values())
    judged.push(...(await judgePage(page, judge)));
  if (problems.size > 0)
    throw new Error(`The model did not judge every doubtful claim: ${[...problems].join(' ')}`);
  return judged;
}

function judgeAt(url: string, problems: Set<string>): SecondJudge {
  const gateway = createModelGateway({ url, apiKey: 'planted', model: 'planted', timeoutMs: TIMEOUT_MS });
  return createCitationJudge({
    model: new ResearchModel(gateway, 1),
    ask: { signal: new AbortController().signal, onSpent: () => undefined },
    limit: new AbortController().signal,
    mayAsk: () => true,
    atOnce: 1,
    onProblem: (words) => problems.add(words),
  });
}

/** All claims about one page as one draft that cites it. */
async function judgePage(page: readonly PlantedClaim[], judge: SecondJudge): Promise<Judged[]> {
  const { title = '', passage = '' } = page[0] ?? {};
  const checker = new CitationChecker([{ number: 1, title, text: passage }], judge);
  const mixed = inOrderOfChance(page);
  const draft = mixed.map(({ claim }) => `${claim} [1]`).join('\n');
  const [lines = []] = await checker.checkDrafts([{ draft, candidates: [1] }]);
  return mixed.map((planted, index) => ({ planted, verdict: onlyVerdict(planted, lines[index]) }));
}

/** Always the same order, which says nothing about what is true: sets list the true claims of a page first. */
function inOrderOfChance(page: readonly PlantedClaim[]): PlantedClaim[] {
  const rank = ({ claim }: PlantedClaim) => createHash('sha256').update(claim).digest('hex');
  return page.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1));
}

function onlyVerdict({ claim }: PlantedClaim, line: CheckedLine | undefined): Verdict {
  const [citation, ...more] = (line?.sentences ?? []).flatMap(({ citations }) => citations);
  if (citation === undefined || more.length > 0 || line?.sentences.length !== 1)
    throw new Error(
      `A planted claim must be one sentence of at least three words that asks nothing: ${claim}`,
    );
  return citation.verdict;
}
