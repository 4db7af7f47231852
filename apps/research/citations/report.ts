import { setImmediate as breathe } from 'node:timers/promises';
import { sentenceSpans } from '../text/sentences.ts';
import { type CheckedDocument, checkClaim, plainClaim, prepareDocument, type Verdict } from './check.ts';

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

/** Checks drafts against texts; each text is taken apart once. */
export class CitationChecker {
  readonly #texts: ReadonlyMap<number, CitableText>;
  readonly #prepared = new Map<number, CheckedDocument>();

  constructor(texts: readonly CitableText[]) {
    this.#texts = new Map(texts.map((text) => [text.number, text]));
  }

  /** Every line of a draft; `candidates` are the texts that may bear out a sentence whose own citation does not. */
  async checkDraft(draft: string, candidates: readonly number[]): Promise<CheckedLine[]> {
    const lines: CheckedLine[] = [];
    for (const line of draft.split('\n')) {
      const [, prefix = '', body = ''] = /^(\s*(?:[-*•]|\d+[.)]|#{1,6}|>)?\s*)(.*)$/.exec(line) ?? [];
      const isHeading = prefix.includes('#');
      const sentences: CheckedSentence[] = [];
      for (const sentence of citedSentences(body))
        sentences.push(await this.#checkSentence(sentence, candidates, isHeading));
      lines.push({ prefix, sentences });
    }
    return lines;
  }

  async #checkSentence(
    { text, numbers }: CitedSentence,
    candidates: readonly number[],
    isHeading: boolean,
  ): Promise<CheckedSentence> {
    if (isHeading || !isClaim(text)) return { text, citations: [], isClaim: false };
    // The checks are heavy: let others have their turn between sentences.
    await breathe();
    const cited = numbers.map((number) => ({ number, verdict: this.#check(text, number) }));
    if (cited.some(({ verdict }) => verdict.supported)) return { text, citations: cited, isClaim: true };
    const better = this.#retie(
      text,
      candidates.filter((number) => !numbers.includes(number)),
    );
    return { text, citations: better === undefined ? cited : [better], isClaim: true };
  }

  /** The first other text that bears the sentence out. */
  #retie(text: string, candidates: readonly number[]): CheckedCitation | undefined {
    for (const number of candidates) {
      const verdict = this.#check(text, number);
      if (verdict.supported) return { number, verdict };
    }
    return undefined;
  }

  #check(text: string, number: number): Verdict {
    const document = this.#document(number);
    if (document === undefined)
      return { supported: false, score: 0, reason: 'there is no such source', passage: undefined };
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

/** Questions and scraps claim nothing. */
function isClaim(text: string): boolean {
  return !text.endsWith('?') && plainClaim(text).split(/\s+/).length >= 4;
}
