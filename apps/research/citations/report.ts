import { setImmediate as breathe } from 'node:timers/promises';
import type { ClaimChange } from '../api-types.ts';
import { blankBaits, callOf, isOffer, restsOn } from './calls.ts';
import { checkClaim, type Verdict } from './check.ts';
import { type CheckedDocument, prepareDocument } from './document.ts';
import { type DraftLine, type DraftStatement, readDraft } from './draft.ts';
import { type Judges, settleVerdicts } from './second-judge.ts';

/** A text that citations can refer to, by the number that drafts use. */
export interface CitableText {
  number: number;
  title: string;
  text: string;
  /** Nothing of the page or file is missing in the text; true when not given. */
  isWhole?: boolean;
}

export interface CheckedCitation {
  number: number;
  verdict: Verdict;
}

/** A statement of a draft with its citations after the check. */
export interface CheckedSentence extends DraftStatement {
  citations: CheckedCitation[];
  /** What became of its citation or of itself. */
  change?: ClaimChange;
}

export type CheckedLine = DraftLine<CheckedSentence>;

/** A draft, and the texts that may bear out a sentence whose own citation does not. */
interface CitedDraft {
  draft: string;
  candidates: readonly number[];
  /** What it is about: the question, the points of the plan, the titles of pages. */
  topics?: readonly string[];
}

/** Checks drafts against texts; each text is taken apart once. What comparing words cannot settle is put to the judges. */
export class CitationChecker {
  readonly #texts: ReadonlyMap<number, CitableText>;
  readonly #prepared = new Map<number, CheckedDocument & { baits: readonly string[] }>();
  readonly #judges: Judges;

  constructor(texts: readonly CitableText[], judges: Judges = {}) {
    this.#texts = new Map(texts.map((text) => [text.number, text]));
    this.#judges = judges;
  }

  /** Every line of each draft. */
  async checkDrafts(drafts: readonly CitedDraft[]): Promise<CheckedLine[][]> {
    const read = drafts.map(({ draft, candidates, topics }) =>
      readDraft(draft, topics).map((line) => ({
        ...line,
        sentences: line.sentences.map((sentence) => ({ ...sentence, candidates })),
      })),
    );
    const sentences = read.flat().flatMap((line) => line.sentences);
    const checked = await this.checkStatements(sentences);
    const results = new Map(sentences.map((sentence, index) => [sentence, checked[index]]));
    return read.map((lines) =>
      lines.map((line) => ({
        ...line,
        sentences: line.sentences.flatMap((each) => results.get(each) ?? []),
      })),
    );
  }

  /** Statements in their order. */
  async checkStatements(
    statements: readonly (DraftStatement & { candidates: readonly number[] })[],
  ): Promise<CheckedSentence[]> {
    const open: OpenSentence[] = statements.map((statement) => ({ ...statement, citations: [] }));
    const claims = open.filter(({ isClaim }) => isClaim);
    await this.#checkCited(claims);
    // What wants something of its reader stays without a source, also where a page has the same words.
    // A source that does not exist is not turned into one that does.
    await this.#retie(
      claims.filter(
        (claim) =>
          !isSupported(claim) &&
          callOf(claim.text) === undefined &&
          !isOffer(claim.text) &&
          claim.numbers.every((number) => this.#texts.has(number)),
      ),
    );
    // What a model takes for a topic is looked at too: it may have been talked into that.
    for (const sentence of open)
      if (this.#isBait(sentence)) Object.assign(sentence, { change: 'withheld', isClaim: true });
      else if (sentence.isTopic) sentence.isClaim = false;
    return open.map(({ candidates: _, isTopic: __, ...sentence }) => sentence);
  }

  /** Tells its reader to go, pay or say something, or has its words from a place of a page that does. */
  #isBait(claim: OpenSentence): boolean {
    const call = callOf(claim.text);
    if (call === 'bait' || (call === 'order' && claim.kind === 'heading')) return true;
    // A model may be talked into a verdict; the same words elsewhere on the page are enough.
    if (!claim.isClaim || claim.citations.some(isBorneOutByWords)) return false;
    const near = new Set([...claim.numbers, ...claim.candidates]);
    return [...near].some((number) => {
      const { baits, text } = this.#document(number) ?? { baits: [], text: '' };
      return restsOn(claim.statement, baits, text);
    });
  }

  /** What each sentence cites itself. */
  async #checkCited(claims: readonly OpenSentence[]): Promise<void> {
    for (const claim of claims) {
      // The checks are heavy: let others have their turn between sentences.
      await breathe();
      claim.citations = claim.numbers.map((number) => ({
        number,
        verdict: this.#check(claim.statement, number),
      }));
    }
    const cited = claims.flatMap(({ statement, citations }) =>
      citations.map((citation) => ({ statement, citation })),
    );
    const verdicts = await this.#settle(cited);
    for (const [index, { citation }] of cited.entries())
      citation.verdict = verdicts[index] ?? citation.verdict;
  }

  /** Ties sentences that nothing they cite bears out to another text that does. */
  async #retie(claims: readonly OpenSentence[]): Promise<void> {
    const found = [];
    for (const claim of claims) {
      await breathe();
      const citation = this.#betterText(claim, claim.mayBeTopic ? 0 : WORTH_JUDGING);
      if (citation !== undefined) found.push({ claim, statement: claim.statement, citation });
    }
    const verdicts = await this.#settle(found);
    for (const [index, { claim, citation }] of found.entries()) {
      const verdict = verdicts[index] ?? citation.verdict;
      if (verdict.judge === 'model') {
        claim.isTopic = claim.mayBeTopic === true && verdict.isTopic === true;
        claim.mayBeTopic = false;
      } else if (citation.verdict.score < WORTH_JUDGING && !citation.verdict.supported) continue;
      // A citation of the draft is replaced only by one that surely holds, and the reader is told.
      if (!verdict.supported || (claim.numbers.length > 0 && !verdict.certain)) continue;
      claim.citations = [{ ...citation, verdict }];
      claim.change = claim.numbers.length > 0 ? 'moved' : 'added';
    }
  }

  /** Another text that surely bears the sentence out, else the one that has most of it, for the judge. */
  #betterText(
    { statement, numbers, candidates }: OpenSentence,
    worthJudging: number,
  ): CheckedCitation | undefined {
    const others = candidates
      .filter((number) => !numbers.includes(number))
      .map((number) => ({ number, verdict: this.#check(statement, number) }));
    return (
      others.find(({ verdict }) => verdict.supported) ??
      others
        .filter(({ verdict }) => !verdict.certain && verdict.score >= worthJudging)
        .toSorted((left, right) => right.verdict.score - left.verdict.score)[0]
    );
  }

  #settle(open: readonly { statement: string; citation: CheckedCitation }[]): Promise<Verdict[]> {
    const verdicts = open.map(({ statement: claim, citation: { number, verdict } }) => ({
      claim,
      document: this.#document(number),
      verdict,
    }));
    return settleVerdicts(verdicts, this.#judges);
  }

  #check(statement: string, number: number): Verdict {
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
    return checkClaim(statement, document);
  }

  #document(number: number): (CheckedDocument & { baits: readonly string[] }) | undefined {
    const source = this.#texts.get(number);
    if (source === undefined) return undefined;
    const known = this.#prepared.get(number);
    if (known !== undefined) return known;
    const { text, baits } = blankBaits(source.text);
    const title = callOf(source.title) === 'bait' ? '' : source.title;
    if (title === '') baits.push(source.title);
    // A copy by spreading would take its inventory at once.
    const prepared = Object.assign(prepareDocument(title, text, source.isWhole), { baits });
    this.#prepared.set(number, prepared);
    return prepared;
  }
}

function isBorneOutByWords({ verdict }: CheckedCitation): boolean {
  return verdict.supported && verdict.judge === 'rules';
}

export function isSupported({ citations }: Pick<CheckedSentence, 'citations'>): boolean {
  return citations.some(({ verdict }) => verdict.supported);
}

/** The share of a sentence that another text must have before the judge is asked about it. */
const WORTH_JUDGING = 0.6;

/** A statement while it is being checked. */
interface OpenSentence extends CheckedSentence {
  candidates: readonly number[];
  /** By a model. */
  isTopic?: boolean;
}
