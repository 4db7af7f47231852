/** What a mark needs to know of a claim. */
export interface MarkedClaim {
  sentence: string;
  number: number | null;
}

/** A citation mark of a report: `[2]`, `[2?]`, or `[?]` where nothing is cited. */
export interface CitationMark {
  text: string;
  number: number | undefined;
  isSupported: boolean;
  /** The position of its claim in the list; missing when the claims are not there yet. */
  claim: number | undefined;
}

const RUN = /(?:\[(?:\d{1,3}\??|\?)\])+(?!\()/g;
const MARK = /\[(?:(\d{1,3})(\??)|\?)\]/g;

/** Rewrites every citation mark of a report or answer; each is tied to the claim whose sentence stands in front of it. */
export function rewriteMarks(
  markdown: string,
  claims: readonly MarkedClaim[],
  write: (mark: CitationMark) => string,
): string {
  const words = claims.map(({ sentence }) => withoutStop(sentence));
  const longest = Math.max(0, ...words.map(({ length }) => length));
  return markdown.replace(RUN, (run, offset: number) => {
    const before = markdown.slice(Math.max(0, offset - longest - 1), offset).trimEnd();
    return run.replace(MARK, (text: string, digits: string | undefined, doubt: string | undefined) => {
      const number = digits === undefined ? undefined : Number(digits);
      const claim = claims.findIndex(
        (each, index) => (each.number ?? undefined) === number && before.endsWith(words[index] ?? ''),
      );
      // A sign in a legend, not in a sentence.
      if (number === undefined && claim === -1) return text;
      const isSupported = number !== undefined && doubt === '';
      return write({ text, number, isSupported, claim: claim === -1 ? undefined : claim });
    });
  });
}

function withoutStop(sentence: string): string {
  return sentence.replace(/[.!?…]*["'”’)]*$/, '').trimEnd();
}

/** What a verdict says of itself; verdicts stored long ago do not say who judged. */
interface Judged {
  supported: boolean;
  judge?: 'rules' | 'model' | 'none';
  certain?: boolean;
}

interface JudgedScore {
  byModel?: number;
  unchecked?: number;
  /** Reports of earlier releases: judged by rules that were not sure. */
  doubtful?: number;
  problem?: string;
}

type CitationState = 'supported' | 'not supported' | 'not checked';

export function citationState({ supported, judge }: Judged): CitationState {
  if (judge === 'none') return 'not checked';
  return supported ? 'supported' : 'not supported';
}

/** Who judged a citation. */
export function judgeText({ judge = 'rules', certain = false }: Pick<Judged, 'judge' | 'certain'>): string {
  if (judge === 'none') return 'not checked';
  if (judge === 'model') return 'judged by the model';
  return certain ? 'judged by rules' : 'judged by rules that are not sure of it';
}

/** Who judged the citations of a report; empty where there is nothing to add to the score. */
export function judgesText({ byModel = 0, unchecked, doubtful = 0 }: JudgedScore): string {
  return [
    ...(byModel > 0 ? [`${byModel} judged by the model`] : []),
    ...(unchecked ? [`${unchecked} not checked`] : []),
    ...(unchecked === undefined && doubtful > 0 ? [`${doubtful} not sure`] : []),
  ].join(', ');
}

/** Why the model did not judge every citation that needs it, as a sentence; empty where it did. */
export function problemText({ problem = '' }: JudgedScore): string {
  return problem === ''
    ? ''
    : `The model did not judge every doubtful citation: ${problem.replace(/\.$/, '')}.`;
}
