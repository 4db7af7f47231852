import { findWords, mayBeEnglish } from '../text/sentences.ts';
import { promising, type Verdict } from './check.ts';
import type { ClaimModel, ClaimOpinion } from './claim-model/claim-model.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { irrelevanceOf, objectionTo } from './exactness.ts';
import { statementOf } from './statement.ts';

const WHOLE = 3000;

const MOST_SENTENCES = 8;

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
 * lacks a figure or a name on its page is not put to anybody, as nobody could overrule that.
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
  for (const [index, { place, verdict }] of pending.entries()) {
    const opinion = opinions[index];
    if (opinion !== undefined) verdicts[place] = ownVerdict(verdict, opinion);
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

/** The built-in model lets a claim pass from here: 7 to 8 of 10 of these are true on sets it has not seen. */
const LIKELY = 0.3;
/**
 * Below this a claim is not borne out. The model was trained with smoothed labels, so that half of the false claims lie
 * between 0.016, near its least, and here; a limit among them would depend on how a processor rounds. It is never sure alone,
 * as at no probability over 98 of 100 of its verdicts are right on sets it has not seen.
 */
const UNLIKELY = 0.018;

/** A quarter of the true claims lies between the two: there the built-in model leaves a claim unchecked rather than blame it. */
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

function overruled(
  verdict: Verdict,
  { finding, words, isTopic }: Opinion,
  { claim, document }: Pick<Pending, 'claim' | 'document'>,
  opinion: ClaimOpinion | undefined,
): Verdict {
  const judged = { ...verdict, judge: 'model' as const, certain: true };
  if (finding === 'absent')
    return {
      ...judged,
      supported: false,
      reason: 'the page does not say this',
      ...(isTopic && { isTopic }),
    };
  const passage = sentenceAround(words, document) ?? verdict.passage;
  if (finding === 'contradicted')
    return { ...judged, supported: false, reason: 'the page says otherwise', passage };
  const reason = passage && irrelevanceOf(statementOf(plainClaim(claim)), passage, document);
  if (reason !== undefined) return { ...verdict, judge: 'rules', supported: false, reason };
  // Some models say yes to everything: a yes is sure only where the built-in model agrees or cannot say.
  const certain = opinion === undefined || opinion.yes >= LIKELY;
  return { ...judged, supported: true, certain, reason: '', passage };
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

/** What of a page is shown to a language model: all of a short one, else the sentences nearest to the claim with those beside them. */
function excerptFor(claim: string, document: CheckedDocument): string {
  if (document.text.length <= WHOLE) return document.text.trim();
  return nearestSentences(claim, document, WHOLE, ({ length }) => length).join('\n');
}

/** Words that the built-in model is shown at most, as in its training. */
const WORDS_SHOWN = 185;
const wordCount = (text: string) => text.split(/\s+/).length;

function shownToOwn(claim: string, document: CheckedDocument): string {
  if (wordCount(document.text) <= WORDS_SHOWN) return document.text.trim().replace(/\s+/g, ' ');
  return nearestSentences(claim, document, WORDS_SHOWN, wordCount).join(' ');
}

/** The sentences that have most of the claim, each with its neighbours, up to a size, in the order of the page. */
function nearestSentences(
  claim: string,
  document: CheckedDocument,
  most: number,
  sizeOf: (text: string) => number,
): string[] {
  const near = promising(statementOf(plainClaim(claim)), document).slice(0, MOST_SENTENCES);
  const shown = new Set<number>();
  let size = 0;
  for (const place of near.flatMap((each) => [each, each - 1, each + 1])) {
    const text = document.sentences[place]?.span.text;
    if (text === undefined || shown.has(place) || size + sizeOf(text) > most) continue;
    size += sizeOf(text);
    shown.add(place);
  }
  return [...shown]
    .sort((left, right) => left - right)
    .map((place) => document.sentences[place]?.span.text ?? '');
}
