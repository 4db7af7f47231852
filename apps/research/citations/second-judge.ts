import { findWords, mayBeEnglish } from '../text/sentences.ts';
import type { Verdict } from './check.ts';
import type { ClaimModel, ClaimOpinion } from './claim-model/claim-model.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { irrelevanceOf, isInferred, objectionTo } from './exactness.ts';
import { excerptFor, isShownWhole, shownToOwn } from './excerpt.ts';
import { statementOf } from './statement.ts';

/** A claim that comparing words cannot settle, with what its page says nearest to it. */
export interface Question {
  claim: string;
  title: string;
  excerpt: string;
}

export interface Opinion {
  finding: 'supported' | 'contradicted' | 'absent';
  /** The words of the excerpt that show it; empty where nothing does. */
  words: string;
  /** The claim states nothing, as a heading that only names a subject; its finding is `absent`. */
  isTopic?: boolean;
}

/** Gives an opinion on each question, in their order; undefined where it has none: the claim is not checked. */
export type SecondJudge = (questions: readonly Question[]) => Promise<readonly (Opinion | undefined)[]>;

/** Who judges what comparing words cannot settle. */
export interface Judges {
  /** The built-in model. */
  own?: Pick<ClaimModel, 'judge'> | undefined;
  /** A language model. */
  model?: SecondJudge | undefined;
  /** Aborted when nobody waits for the verdicts any more. */
  signal?: AbortSignal | undefined;
}

/** A verdict that the judges may replace. */
interface OpenVerdict {
  claim: string;
  document: CheckedDocument | undefined;
  verdict: Verdict;
}

/** One that they are asked about. */
interface Pending extends OpenVerdict {
  document: CheckedDocument;
  place: number;
}

/**
 * The verdicts after what is not certain was put to the judges: the built-in model first, then the language model. What
 * lacks a figure or a name on its page (see `objectionTo`) is not put to anybody, as nobody could overrule that.
 */
export async function settleVerdicts(
  open: readonly OpenVerdict[],
  { own, model, signal }: Judges,
): Promise<Verdict[]> {
  const verdicts = open.map(({ verdict }) => verdict);
  const pending: Pending[] = [];
  for (const [place, { claim, document, verdict }] of open.entries()) {
    if (document === undefined || verdict.certain) continue;
    const reason = objectionTo(statementOf(plainClaim(claim)), document);
    if (reason === undefined) pending.push({ claim, document, verdict, place });
    else verdicts[place] = { ...verdict, judge: 'rules', supported: false, reason };
  }
  const opinions = own === undefined ? [] : await ownOpinions(pending, own, signal);
  for (const [index, { claim, document, place, verdict }] of pending.entries()) {
    const opinion = opinions[index];
    if (opinion === undefined) continue;
    const judged = ownVerdict(verdict, opinion);
    // The built-in model does not reason from ranges.
    if (!judged.supported || !isInferred(statementOf(plainClaim(claim)), document)) verdicts[place] = judged;
  }
  if (model === undefined || pending.length === 0) return verdicts;
  const answers = await model(
    pending.map(({ claim, document }) => ({
      claim,
      title: document.title,
      excerpt: excerptFor(claim, document),
    })),
  );
  for (const [index, { claim, document, verdict, place }] of pending.entries()) {
    const answer = answers[index];
    if (answer !== undefined)
      verdicts[place] = overruled(verdicts[place] ?? verdict, answer, { claim, document }, opinions[index]);
  }
  return verdicts;
}

/** What the built-in model says of each, where claim and page are in the language that it reads. */
async function ownOpinions(
  pending: readonly Pending[],
  own: NonNullable<Judges['own']>,
  signal: AbortSignal | undefined,
): Promise<(ClaimOpinion | undefined)[]> {
  const asked = pending.flatMap(({ claim, document }, index) =>
    !document.inventory.isEnglish || !mayBeEnglish(claim)
      ? []
      : [{ index, pair: { claim, passage: `${document.title}: ${shownToOwn(claim, document)}` } }],
  );
  const opinions = await own.judge(
    asked.map(({ pair }) => pair),
    signal,
  );
  const byIndex = new Map(asked.map(({ index }, at) => [index, opinions[at]]));
  return pending.map((_, index) => byIndex.get(index));
}

/** The built-in model lets a claim pass from here: 8 of 10 of these are true on the sets that this was chosen by. */
const LIKELY = 0.33;
/**
 * Below this a claim is not borne out: on the same sets half of the false claims lie there and one in thirty of the true ones. It
 * is never sure alone, as at no probability over 98 of 100 of its verdicts are right on sets it has not seen.
 */
const UNLIKELY = 0.12;

/** A fifth of the true claims lies between the two: there the built-in model leaves a claim unchecked rather than blame it. */
function ownVerdict(verdict: Verdict, { yes, no, unsaid }: ClaimOpinion): Verdict {
  const supported = yes >= LIKELY;
  if (!supported && yes >= UNLIKELY) return verdict;
  const judged = { ...verdict, judge: 'own' as const, certain: false, supported };
  if (supported) return { ...judged, reason: '' };
  return { ...judged, reason: no > unsaid ? 'the page says otherwise' : 'the page does not say this' };
}

/** Whether the words that are to show it stand in what was shown; an opinion without them is not taken. */
export function isFounded({ finding, words }: Opinion, { excerpt }: Question): boolean {
  return finding === 'absent' || findWords(words, excerpt) !== undefined;
}

/**
 * The verdict after a language model's answer. It is sure only where the built-in model, which knows nothing of that answer,
 * leans the same way; that something is absent only if nothing of the page is missing in what the model was shown.
 */
function overruled(
  verdict: Verdict,
  { finding, words, isTopic }: Opinion,
  { claim, document }: Pick<Pending, 'claim' | 'document'>,
  opinion: ClaimOpinion | undefined,
): Verdict {
  const isDoubted = opinion !== undefined && opinion.yes < LIKELY;
  const judged = { ...verdict, judge: 'model' as const, certain: isDoubted };
  if (finding === 'absent')
    return {
      ...judged,
      certain: isDoubted && document.inventory.isWhole && isShownWhole(document),
      supported: false,
      reason: 'the page does not say this',
      ...(isTopic && { isTopic }),
    };
  const passage = sentenceAround(words, document) ?? verdict.passage;
  if (finding === 'contradicted')
    return { ...judged, supported: false, reason: 'the page says otherwise', passage };
  const reason = passage && irrelevanceOf(statementOf(plainClaim(claim)), passage, document);
  if (reason !== undefined) return { ...verdict, judge: 'rules', certain: false, supported: false, reason };
  return { ...judged, supported: true, certain: opinion !== undefined && !isDoubted, reason: '', passage };
}

/** The whole sentences that the words stand in. */
function sentenceAround(words: string, { text, sentences }: CheckedDocument): Verdict['passage'] {
  const found = findWords(words, text);
  if (found === undefined) return undefined;
  const around = sentences.filter(({ span }) => span.start < found.end && span.end > found.start);
  const start = around[0]?.span.start ?? found.start;
  const end = around.at(-1)?.span.end ?? found.end;
  return { start, end, text: text.slice(start, end) };
}
