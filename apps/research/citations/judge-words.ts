/** What words about a verdict need to know of it; verdicts stored long ago do not say who judged. */
interface Judged {
  judge?: 'rules' | 'model';
  certain?: boolean;
}

interface JudgedScore {
  byModel?: number;
  doubtful?: number;
  problem?: string;
}

/** Who judged a citation, and how surely. */
export function judgeWords({ judge = 'rules', certain = false }: Judged): string {
  if (judge === 'model') return 'judged by the model';
  return certain ? 'judged by rules' : 'judged by rules that are not sure of it';
}

/** Who judged the citations of a report; empty where there is nothing to add to the score. */
export function judgesWords({ byModel = 0, doubtful = 0 }: JudgedScore): string {
  return [
    ...(byModel > 0 ? [`${byModel} judged by the model`] : []),
    ...(doubtful > 0 ? [`${doubtful} not sure`] : []),
  ].join(', ');
}

/** Why the model did not judge all that is doubtful, as a sentence; empty where it did. */
export function problemWords({ problem = '' }: JudgedScore): string {
  return problem === ''
    ? ''
    : `The model did not judge every doubtful citation: ${problem.replace(/\.$/, '')}.`;
}
