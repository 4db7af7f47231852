import { createHash } from 'node:crypto';
import { createModelGateway } from '@trunkline/llm';
import { createCitationJudge } from '../../research/citation-judge.ts';
import { ResearchModel } from '../../research/model.ts';
import { type CheckedLine, CitationChecker } from '../report.ts';
import type { SecondJudge } from '../second-judge.ts';
import type { Verdict } from '../verdict.ts';
import type { Judged, PlantedClaim } from './planted.ts';

const TIMEOUT_MS = 60_000;

/** The verdicts of the whole checker: the rules, and the model at the address for what they are not sure of. */
export async function judgedWithModel(claims: readonly PlantedClaim[], modelUrl: string): Promise<Judged[]> {
  const problems = new Set<string>();
  const judge = judgeAt(modelUrl, problems);
  const judged: Judged[] = [];
  for (const page of Map.groupBy(claims, ({ passage }) => passage).values())
    judged.push(...(await judgePage(page, judge)));
  if (problems.size > 0)
    throw new Error(`The model did not judge every doubtful claim: ${[...problems].join(' ')}`);
  return judged;
}

function judgeAt(url: string, problems: Set<string>): SecondJudge {
  const gateway = createModelGateway({ url, apiKey: 'planted', model: 'planted', timeoutMs: TIMEOUT_MS });
  return createCitationJudge({
    model: new ResearchModel(gateway, 1),
    ask: { signal: new AbortController().signal, onSpent: () => undefined },
    limit: new AbortController().signal,
    mayAsk: () => true,
    atOnce: 1,
    onProblem: (words) => problems.add(words),
  });
}

/** All claims about one page as one draft that cites it. */
async function judgePage(page: readonly PlantedClaim[], judge: SecondJudge): Promise<Judged[]> {
  const { title = '', passage = '' } = page[0] ?? {};
  const checker = new CitationChecker([{ number: 1, title, text: passage }], judge);
  const mixed = inOrderOfChance(page);
  const draft = mixed.map(({ claim }) => `${claim} [1]`).join('\n');
  const [lines = []] = await checker.checkDrafts([{ draft, candidates: [1] }]);
  return mixed.map((planted, index) => ({ planted, verdict: onlyVerdict(planted, lines[index]) }));
}

/** Always the same order, which says nothing about what is true: sets list the true claims of a page first. */
function inOrderOfChance(page: readonly PlantedClaim[]): PlantedClaim[] {
  const rank = ({ claim }: PlantedClaim) => createHash('sha256').update(claim).digest('hex');
  return page.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1));
}

function onlyVerdict({ claim }: PlantedClaim, line: CheckedLine | undefined): Verdict {
  const [citation, ...more] = (line?.sentences ?? []).flatMap(({ citations }) => citations);
  if (citation === undefined || more.length > 0 || line?.sentences.length !== 1)
    throw new Error(
      `A planted claim must be one sentence of at least three words that asks nothing: ${claim}`,
    );
  return citation.verdict;
}
