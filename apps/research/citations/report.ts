import { setImmediate as breathe } from 'node:timers/promises';
import { sentenceSpans } from '../text/sentences.ts';
import { checkClaim, type Verdict } from './check.ts';
import { type CheckedDocument, plainClaim, prepareDocument } from './document.ts';
import { type SecondJudge, secondVerdicts } from './second-judge.ts';

/** A text that citations can refer to, by the number that drafts use. */
export interface CitableText {
  number: number;
  title: string;
  text: string;
}

export interface CheckedCitation {
  number: number;
  verdict: Verdict;
}

/** A sentence of a draft with its citations after the check. */
export interface CheckedSentence {
  /** Without citation marks. */
  text: string;
  citations: CheckedCitation[];
  /** Says something that needs a source. */
  isClaim: boolean;
}

/** Lines of sentences; a line that is a heading, a list item or a paragraph stays one. */
export type CheckedLine = { prefix: string; sentences: CheckedSentence[] };

/** A draft, and the texts that may bear out a sentence whose own citation does not. */
interface CitedDraft {
  draft: string;
  candidates: readonly number[];
}

/** Checks drafts against texts; each text is taken apart once. What comparing words cannot settle is put to the judge. */
export class CitationChecker {
  readonly #texts: ReadonlyMap<number, CitableText>;
  readonly #prepared = new Map<number, CheckedDocument>();
  readonly #judge: SecondJudge | undefined;

  constructor(texts: readonly CitableText[], judge?: SecondJudge) {
    this.#texts = new Map(texts.map((text) => [text.number, text]));
    this.#judge = judge;
  }

  /** Every line of each draft. */
  async checkDrafts(drafts: readonly CitedDraft[]): Promise<CheckedLine[][]> {
    const read = drafts.map(({ draft, candidates }) => readLines(draft, candidates));
    const claims = read.flat().flatMap(({ sentences }) => sentences.filter(({ isClaim: is }) => is));
    await this.#checkCited(claims);
    await this.#retie(claims.filter(({ citations }) => !citations.some(({ verdict }) => verdict.supported)));
    return read.map((lines) =>
      lines.map(({ prefix, sentences }) => ({
        prefix,
        sentences: sentences.map(({ text, citations, isClaim: is }) => ({ text, citations, isClaim: is })),
      })),
    );
  }

  /** What each sentence cites itself. */
  async #checkCited(claims: readonly OpenSentence[]): Promise<void> {
    for (const claim of claims) {
      // The checks are heavy: let others have their turn between sentences.
      await breathe();
      claim.citations = claim.numbers.map((number) => ({ number, verdict: this.#check(claim.text, number) }));
    }
    const cited = claims.flatMap(({ text, citations }) => citations.map((citation) => ({ text, citation })));
    const verdicts = await this.#settle(cited);
    for (const [index, { citation }] of cited.entries())
      citation.verdict = verdicts[index] ?? citation.verdict;
  }

  /** Ties sentences that nothing they cite bears out to another text that does. */
  async #retie(claims: readonly OpenSentence[]): Promise<void> {
    const found = [];
    for (const claim of claims) {
      await breathe();
      const citation = this.#betterText(claim);
      if (citation !== undefined) found.push({ claim, text: claim.text, citation });
    }
    const verdicts = await this.#settle(found);
    for (const [index, { claim, citation }] of found.entries()) {
      const verdict = verdicts[index] ?? citation.verdict;
      if (verdict.supported) claim.citations = [{ ...citation, verdict }];
    }
  }

  /** Another text that surely bears the sentence out, else the one that has most of it, for the judge. */
  #betterText({ text, numbers, candidates }: OpenSentence): CheckedCitation | undefined {
    const others = candidates
      .filter((number) => !numbers.includes(number))
      .map((number) => ({ number, verdict: this.#check(text, number) }));
    return (
      others.find(({ verdict }) => verdict.supported) ??
      others
        .filter(({ verdict }) => !verdict.certain && verdict.score >= WORTH_JUDGING)
        .toSorted((left, right) => right.verdict.score - left.verdict.score)[0]
    );
  }

  #settle(open: readonly { text: string; citation: CheckedCitation }[]): Promise<Verdict[]> {
    const verdicts = open.map(({ text, citation: { number, verdict } }) => ({
      claim: plainClaim(text),
      document: this.#document(number),
      verdict,
    }));
    if (this.#judge === undefined) return Promise.resolve(verdicts.map(({ verdict }) => verdict));
    return secondVerdicts(verdicts, this.#judge);
  }

  #check(text: string, number: number): Verdict {
    const document = this.#document(number);
    if (document === undefined)
      return {
        supported: false,
        certain: true,
        judge: 'rules',
        score: 0,
        reason: 'there is no such source',
        passage: undefined,
      };
    return checkClaim(text, document);
  }

  #document(number: number): CheckedDocument | undefined {
    const text = this.#texts.get(number);
    if (text === undefined) return undefined;
    const prepared = this.#prepared.get(number) ?? prepareDocument(text.title, text.text);
    this.#prepared.set(number, prepared);
    return prepared;
  }
}

/** The share of a sentence that another text must have before the judge is asked about it. */
const WORTH_JUDGING = 0.6;

/** A sentence while it is being checked. */
interface OpenSentence extends CheckedSentence {
  numbers: readonly number[];
  candidates: readonly number[];
}

function readLines(
  draft: string,
  candidates: readonly number[],
): { prefix: string; sentences: OpenSentence[] }[] {
  return draft.split('\n').map((line) => {
    const [, prefix = '', body = ''] = /^(\s*(?:[-*•]|\d+[.)]|#{1,6}|>)?\s*)(.*)$/.exec(line) ?? [];
    const isHeading = prefix.includes('#');
    const sentences = citedSentences(body).map(({ text, numbers }) => ({
      text,
      numbers,
      candidates,
      citations: [],
      isClaim: !isHeading && isClaim(text, numbers),
    }));
    return { prefix, sentences };
  });
}

interface CitedSentence {
  text: string;
  numbers: number[];
}

const MARKS = /\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]/g;

/** Sentences with the numbers that stand in them or right behind them. */
function citedSentences(line: string): CitedSentence[] {
  // Marks behind the full stop are drawn in front of it, so that they stay with their sentence.
  const drawn = line.replace(
    /([.!?]["'”’)]*)((?:\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\])+)/g,
    (_, stop: string, marks: string) => ` ${marks.trim()}${stop}`,
  );
  return sentenceSpans(drawn).map(({ text }) => ({
    text: text
      .replace(MARKS, '')
      .replace(/\s+([.!?,;:])/g, '$1')
      .trim(),
    numbers: [
      ...new Set([...text.matchAll(MARKS)].flatMap(([mark]) => (mark.match(/\d+/g) ?? []).map(Number))),
    ],
  }));
}

const LEAST_WORDS = 4;
const LEAST_CITED_WORDS = 3;

/** Questions and scraps claim nothing; what cites something is a claim sooner than what does not. */
function isClaim(text: string, numbers: readonly number[]): boolean {
  const least = numbers.length > 0 ? LEAST_CITED_WORDS : LEAST_WORDS;
  return !text.endsWith('?') && plainClaim(text).split(/\s+/).length >= least;
}
