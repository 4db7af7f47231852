import type { ClaimChange, Judge } from '../api-types.ts';

/** What a mark needs to know of a claim. */
export interface MarkedClaim {
  sentence: string;
  number: number | null;
  change?: ClaimChange;
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
  const ends = claims.map(endOf);
  const longest = Math.max(0, ...ends.map(({ words }) => words.length));
  const used = new Set<number>();
  return markdown.replace(RUN, (run, offset: number) => {
    const before = markdown.slice(Math.max(0, offset - longest - 1), offset).trimEnd();
    const line = markdown.slice(markdown.lastIndexOf('\n', offset) + 1, offset);
    const isMeant = (index: number, number: number | undefined) => {
      const { words, row } = ends[index] ?? { words: '', row: '' };
      return (claims[index]?.number ?? undefined) === number && before.endsWith(words) && line.includes(row);
    };
    return run.replace(MARK, (text: string, digits: string | undefined, doubt: string | undefined) => {
      const number = digits === undefined ? undefined : Number(digits);
      const found = claims.flatMap((_, index) => (isMeant(index, number) ? [index] : []));
      // Cells may have equal words: each is the next of them.
      const claim = found.find((index) => !used.has(index)) ?? found[0];
      // A sign in a legend, not in a sentence.
      if (number === undefined && claim === undefined) return text;
      if (claim !== undefined) used.add(claim);
      const isSupported = number !== undefined && doubt === '';
      return write({ text, number, isSupported, claim });
    });
  });
}

/** The words that stand right before the marks of a claim; of a cell also its row, which begins the line. */
function endOf({ sentence, change }: MarkedClaim): { words: string; row: string } {
  // Nothing stands in the report of what was left out of it.
  if (change === 'withheld' || change === 'dropped') return { words: '\0', row: '\0' };
  const [, row, cell] = /^(.*) — [^\n]*?: ([^\n]+)$/.exec(sentence) ?? [];
  if (row === undefined || cell === undefined) return { words: withoutStop(sentence), row: '' };
  return { words: withoutStop(cell), row: `| ${row}` };
}

function withoutStop(sentence: string): string {
  return sentence.replace(/[.!?…؟۔।॥。！？｡]*["'”’»)」』）]*$/, '').trimEnd();
}

/** What a verdict says of itself; verdicts stored long ago do not say who judged. */
interface Judged {
  supported: boolean;
  judge?: Judge;
  certain?: boolean;
}

interface JudgedScore {
  byModel?: number;
  byOwn?: number;
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
  if (judge === 'model') return `judged by the model${certain ? '' : ', not sure'}`;
  if (judge === 'own') return `judged by the built-in model${certain ? '' : ', not sure'}`;
  return certain ? 'judged by rules' : 'judged by rules, not sure';
}

/** Who judged the citations of a report; empty where there is nothing to add to the score. */
export function judgesText({ byModel = 0, byOwn = 0, unchecked, doubtful = 0 }: JudgedScore): string {
  return [
    ...(byModel > 0 ? [`${byModel} judged by the model`] : []),
    ...(byOwn > 0 ? [`${byOwn} judged by the built-in model`] : []),
    ...(unchecked ? [`${unchecked} not checked`] : []),
    ...(unchecked === undefined && doubtful > 0 ? [`${doubtful} not sure`] : []),
  ].join(', ');
}

/** How many citations hold, how many sentences have none, and who judged. */
export function scoreText(
  score: JudgedScore & { total: number; supported: number; uncited: number },
): string {
  const { total, supported, uncited } = score;
  const judges = judgesText(score);
  return [
    `${supported} of ${total}`,
    ...(uncited === 0 ? [] : [`${uncited} uncited`]),
    ...(judges === '' ? [] : [judges]),
  ].join(', ');
}

/** Why the model did not judge every citation that needs it, as a sentence; empty where it did. */
export function problemText({ problem = '' }: JudgedScore): string {
  return problem === ''
    ? ''
    : `The model did not judge every doubtful citation: ${problem.replace(/\.$/, '')}.`;
}

const CHANGES: Record<ClaimChange, string> = {
  moved: 'the draft cited another source, which does not bear it out',
  added: 'the draft cited none; this source was found to bear it out',
  repaired: 'the writer corrected this after the first check',
  dropped: 'left out of the report',
  withheld: 'left out of the report',
  removed: 'the citation was removed',
};

/** What became of a statement or of its citation, for the reader of its evidence; empty if nothing did. */
export function changeText({ change }: { change?: ClaimChange }): string {
  return change === undefined ? '' : CHANGES[change];
}

/** What a reader of the whole report must know of what was left out of it. */
export function changeTexts(changes: Partial<Record<ClaimChange, number>> = {}): string[] {
  const { dropped = 0, withheld = 0 } = changes;
  const count = (many: number) => (many === 1 ? '1 statement was' : `${many} statements were`);
  return [
    ...(dropped > 0 ? [`${count(dropped)} left out, as no source read here bears them out.`] : []),
    ...(withheld > 0
      ? [`${count(withheld)} left out, as they tell the reader to go, pay or say something.`]
      : []),
  ];
}
