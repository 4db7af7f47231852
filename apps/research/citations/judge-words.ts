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

export type CitationState = 'supported' | 'not supported' | 'not checked';

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
