import { findWords, type Span } from '../text/sentences.ts';
import { promising, type Verdict } from './check.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
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
}

/** Gives an opinion on each question, in their order; undefined where it has none: the claim is not checked. */
export type SecondJudge = (questions: readonly Question[]) => Promise<readonly (Opinion | undefined)[]>;

/** A verdict that the judge may replace. */
interface OpenVerdict {
  claim: string;
  document: CheckedDocument | undefined;
  verdict: Verdict;
}

/** The verdicts after the judge was asked about what is not checked. */
export async function secondVerdicts(open: readonly OpenVerdict[], judge: SecondJudge): Promise<Verdict[]> {
  const asked = open.flatMap(({ claim, document, verdict }, place) =>
    document === undefined || verdict.certain
      ? []
      : [
          {
            place,
            document,
            question: { claim, title: document.title, excerpt: excerptFor(claim, document) },
          },
        ],
  );
  if (asked.length === 0) return open.map(({ verdict }) => verdict);
  const opinions = await judge(asked.map(({ question }) => question));
  const answers = new Map(asked.map((entry, index) => [entry.place, { ...entry, opinion: opinions[index] }]));
  return open.map(({ verdict }, place) => {
    const answer = answers.get(place);
    if (answer?.opinion === undefined) return verdict;
    return overruled(verdict, answer.opinion, answer.document);
  });
}

/** Whether the words that are to show it stand in what was shown; an opinion without them is not taken. */
export function isFounded({ finding, words }: Opinion, { excerpt }: Question): boolean {
  return finding === 'absent' || findWords(words, excerpt) !== undefined;
}

function overruled(verdict: Verdict, { finding, words }: Opinion, document: CheckedDocument): Verdict {
  const judged = { ...verdict, judge: 'model' as const, certain: true };
  if (finding === 'absent') return { ...judged, supported: false, reason: 'the page does not say this' };
  const passage = sentenceAround(words, document) ?? verdict.passage;
  return finding === 'supported'
    ? { ...judged, supported: true, reason: '', passage }
    : { ...judged, supported: false, reason: 'the page says otherwise', passage };
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

/** What of a page is shown to a judge of the claim: all of a short one, else the sentences nearest to it with those beside them. */
function excerptFor(claim: string, document: CheckedDocument): string {
  if (document.text.length <= WHOLE) return document.text.trim();
  const near = promising(statementOf(plainClaim(claim)), document).slice(0, MOST_SENTENCES);
  const places = [...new Set(near.flatMap((place) => [place - 1, place, place + 1]))];
  const shown: Span[] = [];
  let length = 0;
  for (const place of places) {
    const span = document.sentences[place]?.span;
    if (span === undefined || length + span.text.length > WHOLE) continue;
    length += span.text.length;
    shown.push(span);
  }
  return shown
    .toSorted((left, right) => left.start - right.start)
    .map(({ text }) => text)
    .join('\n');
}
