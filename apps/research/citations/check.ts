import type { Judge } from '../api-types.ts';
import { mayBeEnglish, type Span } from '../text/sentences.ts';
import { type CloseReading, type NameKnowledge, readClosely } from './close-reading.ts';
import { absentFrom, type CheckedDocument, plainClaim } from './document.ts';
import { type ComparedToken, comparedTokens, quantityAt } from './quantities.ts';
import { areWritten, compareQuantities, readQuantities } from './quantity-comparison.ts';
import type { Quantity } from './quantity-joins.ts';
import { type Notation, notationOf } from './quantity-words.ts';
import {
  denies,
  lowerText,
  readingsOf,
  type Statement,
  statementOf,
  type Token,
  withoutNegation,
} from './statement.ts';
import { areSynonyms } from './synonyms.ts';
import { readCell } from './tables.ts';

/** Sentences that count as one passage at most. */
const WIDEST = 3;

/** Sentences that are compared closely. */
const COMPARED = 40;

const FIGURE = 1.2;

/**
 * Settles what is beyond doubt by comparing words: the claim has the words of the page, or differs from them in one thing
 * that counts, or has a figure that the page lacks. Everything else is not checked until a model judges it.
 */
export function checkClaim(claimText: string, document: CheckedDocument): Verdict {
  const claim = statementOf(plainClaim(claimText));
  const cell = readCell(plainClaim(claimText), document);
  if (cell !== undefined && isPlain(cell))
    return certainly(
      cell.reading === 'same',
      cell.reading === 'same' ? '' : DIFFERENCES.figure,
      cell.span,
      1,
    );
  const quoted = document.sentences.find(
    (each) => isQuote(claim, each.statement) && isPlain(each) && endsWhole(claim, each.statement, document),
  );
  if (quoted !== undefined) return certainly(true, '', quoted.span, 1);
  const { passage, score } = nearestPassage(claim, document);
  // Which words may be left out is known of English alone.
  const isEnglish = document.inventory.isEnglish && mayBeEnglish(claimText);
  const notation = notationOf(claimText, document.inventory.notation);
  const all: { reading: CloseReading | Difference; span: Span }[] = isEnglish
    ? closeReadings(claim, document, notation)
    : oneDifference(claim, document, notation);
  const read = all.filter(isPlain);
  const same = read.find(({ reading }) => reading === 'same');
  const [other] = read.flatMap(({ reading, span }) =>
    reading === 'same' || reading === 'alike' ? [] : [{ reading, span }],
  );
  const isOpen = read.some(({ reading }) => reading === 'alike');
  if (same !== undefined && other === undefined) return certainly(true, '', same.span, 1);
  if (other !== undefined && same === undefined && !isOpen)
    return certainly(false, DIFFERENCES[other.reading], other.span, score);
  const absent = absentFrom(claim, document.inventory);
  if (absent !== undefined && same === undefined) return certainly(false, absent, passage, score);
  return { supported: false, certain: false, judge: 'none', score, reason: 'no model judged it', passage };
}

const DIFFERENCES: Record<Exclude<CloseReading, 'same' | 'alike'>, string> = {
  denied: 'the passage says the opposite',
  opposite: 'the passage says the opposite',
  figure: 'the passage has another figure',
  hedged: 'the passage says only that it may be so',
  name: 'the passage says it of another',
  share: 'the passage says it of some only',
};

/** Nothing in it was crossed out, so that its words hold as they stand; else a judge must say which do. */
function isPlain({ span }: { span: Span | undefined }): boolean {
  return span?.text.includes('~~') !== true;
}

function certainly(supported: boolean, reason: string, passage: Span | undefined, score: number): Verdict {
  return { supported, certain: true, judge: 'rules', score, reason, passage };
}

const QUOTED = 0.85;

/** The claim gives the sentence word for word, but for its very end, which may not deny it. */
function isQuote(claim: Statement, sentence: Statement): boolean {
  const { length } = claim.tokens;
  if (length < 4 || length > sentence.tokens.length || length < sentence.tokens.length * QUOTED) return false;
  if (denies(lowerText({ tokens: sentence.tokens.slice(length) }))) return false;
  return claim.tokens.every((token, at) => token.lower === sentence.tokens[at]?.lower);
}

/** The claim has the quantities of the sentence, and does not end within one: "30 N" of "30 N/m", "5" of "5 million", "5 mW" of "5 MW". */
function endsWhole(claim: Statement, sentence: Statement, document: CheckedDocument): boolean {
  const { length } = claim.tokens;
  if (
    length === sentence.tokens.length &&
    claim.tokens.every((token, at) => areEqual(token, sentence.tokens[at]))
  )
    return true;
  if (sentence.tokens[length]?.joint !== undefined) return false;
  const last = claim.tokens.findLastIndex(({ kind }) => kind === 'number');
  if (last === -1) return true;
  const { notation } = document;
  const [own = [], theirs = []] = [claim, sentence].map((each) => comparedTokens(each, notation));
  const isOther = own.some(({ quantity }, at) => {
    const [token, other] = [own[at], theirs[at]];
    return quantity !== undefined && token !== undefined && !areWritten(token, other);
  });
  return !isOther && quantityAt(own, last)?.end === quantityAt(theirs, last)?.end;
}

function areEqual(token: Token, other: Token | undefined): boolean {
  return (
    token.text === other?.text &&
    token.lower === other.lower &&
    token.isGlued === other.isGlued &&
    token.joint === other.joint
  );
}

/** In any language: sentences that have the claim's words and differ from it in one figure, or in that one of them denies. */
function oneDifference(
  claim: Statement,
  document: CheckedDocument,
  notation: Notation,
): { reading: Difference; span: Span }[] {
  const own = claim.tokens.filter(({ kind }) => kind !== 'mark');
  if (own.length < LEAST_WORDS) return [];
  return promising(claim, document).flatMap((place) => {
    const { statement, span } = document.sentences[place] ?? {};
    if (statement === undefined || span === undefined) return [];
    const theirs = statement.tokens.filter(({ kind }) => kind !== 'mark');
    const reading = quantityDifference(claim, statement, notation, document) ?? differenceOf(own, theirs);
    return reading === undefined ? [] : [{ reading, span }];
  });
}

const LEAST_WORDS = 4;

/** Figures are alike where one way to read them is the same, as "1.200" and "1200": whether they are, a judge must say. */
type Difference = 'figure' | 'denied' | 'alike' | 'same';

/** What a sentence of the same words says, whose quantities may be written in another unit or notation. */
function quantityDifference(
  claim: Statement,
  sentence: Statement,
  notation: Notation,
  { inventory }: CheckedDocument,
): Difference | undefined {
  const reading = readQuantities(
    comparedTokens(claim, notation),
    comparedTokens(sentence, inventory.notation),
  );
  if (reading === 'open') return 'alike';
  return reading === 'other' ? 'figure' : reading;
}

function differenceOf(own: Statement['tokens'], theirs: Statement['tokens']): Difference | undefined {
  const [left, right] = [lowerText({ tokens: own }), lowerText({ tokens: theirs })];
  if (denies(left) !== denies(right) && bareWords(left) === bareWords(right)) return 'denied';
  if (own.length !== theirs.length) return undefined;
  const other = own.flatMap((token, at) => (token.lower === theirs[at]?.lower ? [] : [at]));
  const isFigure = (at: number) => own[at]?.kind === 'number' && theirs[at]?.kind === 'number';
  const [at = -1] = other;
  if (other.length !== 1 || !isFigure(at)) return undefined;
  const values = readingsOf(theirs[at]?.text ?? '');
  return readingsOf(own[at]?.text ?? '').some((value) => values.includes(value)) ? 'alike' : 'figure';
}

function bareWords(text: string): string {
  return withoutNegation(text).replace(/\s+/g, '');
}

/** The sentences that have nearly the claim's words, and what each says of it. */
function closeReadings(
  claim: Statement,
  document: CheckedDocument,
  notation: Notation,
): { reading: CloseReading; span: Span }[] {
  const names = namesOf(document);
  const own = comparedTokens(claim, notation);
  return promising(claim, document).flatMap((place) => {
    const sentence = document.sentences[place];
    if (sentence === undefined) return [];
    const { statement, span } = sentence;
    const theirs = comparedTokens(statement, document.inventory.notation);
    // With its quantities first: "5 km" has the number of "5 million km".
    const reading = readClosely(own, theirs, names) ?? readWords(claim, own, statement, theirs, names);
    return reading === undefined ? [] : [{ reading, span }];
  });
}

/** Word by word, where their quantities cannot be set against each other: then "3 percent" of "3 percent points" is not sure. */
function readWords(
  claim: Statement,
  own: readonly ComparedToken[],
  sentence: Statement,
  theirs: readonly ComparedToken[],
  names: NameKnowledge,
): CloseReading | undefined {
  const reading = readClosely(claim.tokens, sentence.tokens, names);
  if (reading !== 'same') return reading;
  const quantitiesOf = (tokens: readonly ComparedToken[]) => tokens.flatMap(({ quantity }) => quantity ?? []);
  const page = quantitiesOf(theirs);
  const isThere = (quantity: Quantity) => page.some((other) => compareQuantities(quantity, other) === 'same');
  return quantitiesOf(own).every(isThere) ? 'same' : 'alike';
}

function namesOf({ text, inventory }: CheckedDocument): NameKnowledge {
  return {
    isName: (lower) => inventory.names.has(lower),
    areParts: (left, right) => text.includes(`${left} ${right}`) || text.includes(`${right} ${left}`),
  };
}

/** The passage of one to three sentences that has most of the claim, and the share that it has, 0 to 1. */
function nearestPassage(
  claim: Statement,
  document: CheckedDocument,
): { passage: Span | undefined; score: number } {
  const { sentences, title } = document;
  const titleStems = title === '' ? [] : statementOf(title).stems;
  let best = { from: 0, to: 0, score: 0, rank: 0 };
  const seen = new Set<string>();
  for (const center of promising(claim, document)) {
    for (let from = Math.max(0, center - WIDEST + 1); from <= center; from += 1) {
      for (let to = center + 1; to <= Math.min(from + WIDEST, sentences.length); to += 1) {
        if (seen.has(`${from}-${to}`)) continue;
        seen.add(`${from}-${to}`);
        const statements = sentences.slice(from, to).map(({ statement }) => statement);
        const score = coverage(claim, statements, titleStems, document);
        // Of equal passages the shorter one.
        const rank = score - 0.02 * (to - from);
        if (rank > best.rank) best = { from, to, score: Math.min(1, score), rank };
      }
    }
  }
  return { passage: spanOf(best, document), score: best.score };
}

/** The places of the sentences that share most words and figures with the claim. */
export function promising(claim: Statement, { sentences, weight }: CheckedDocument): number[] {
  const wanted = new Set(claim.stems);
  return sentences
    .map(({ statement }, place) => {
      const shared = statement.stems
        .filter((word) => wanted.has(word))
        .reduce((sum, word) => sum + weight(word), 0);
      return { place, score: shared + 1.5 * sharedFigures(claim, [statement]).found };
    })
    .toSorted((left, right) => right.score - left.score)
    .slice(0, COMPARED)
    .map(({ place }) => place);
}

/** The share of the claim's meaning, by weight, that the passage has words or figures for. */
function coverage(
  claim: Statement,
  passage: readonly Statement[],
  title: readonly string[],
  { weight }: CheckedDocument,
): number {
  const stems = [...new Set(passage.flatMap((statement) => statement.stems))];
  const figures = sharedFigures(claim, passage);
  let found = figures.found * FIGURE;
  let total = figures.total * FIGURE;
  for (const word of claim.stems) {
    const worth = weight(word);
    total += worth;
    if (stems.includes(word)) found += worth;
    else if (stems.some((other) => areSynonyms(word, other))) found += worth * 0.9;
    // The title says what the text is about, but not that this sentence is about it.
    else if (title.includes(word)) found += worth * 0.5;
  }
  return total === 0 ? 0 : found / total;
}

/** How many figures the claim has, and how many of them the passage has too. */
function sharedFigures(claim: Statement, passage: readonly Statement[]): { found: number; total: number } {
  const theirs = new Set(passage.flatMap(({ figures }) => figures.flatMap(({ values }) => values)));
  const { figures } = claim;
  const found = figures.filter(({ values }) => values.some((value) => theirs.has(value)));
  return { found: found.length, total: figures.length };
}

function spanOf(
  { from, to }: { from: number; to: number },
  { sentences, text }: CheckedDocument,
): Span | undefined {
  const [first, last] = [sentences[from]?.span, sentences[to - 1]?.span];
  if (first === undefined || last === undefined) return undefined;
  return { start: first.start, end: last.end, text: text.slice(first.start, last.end) };
}

export interface Verdict {
  supported: boolean;
  /** False where it was not checked. */
  certain: boolean;
  judge: Judge;
  /** The share of the claim that the passage has words for, 0 to 1. */
  score: number;
  /** Why not; empty when supported. */
  reason: string;
  /** The model says that the claim states nothing. */
  isTopic?: boolean;
  /** The stretch of the document that bears the claim out best. */
  passage: Span | undefined;
}
