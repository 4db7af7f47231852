import { rewriteMarks } from '../citations/marks.ts';
import type { Claim } from '../research/job.ts';
import type { Bundle } from './bundle.ts';
import { type Block, parseMarkdown } from './markdown.ts';

/** The report taken apart, its citations as links to the claims. */
export function linkedReport({ report, claims }: Pick<Bundle, 'report' | 'claims'>): Block[] {
  const linked = rewriteMarks(report, claims, ({ text, claim }) =>
    claim === undefined ? text : `[\\${text.slice(0, -1)}\\]](${claimAnchor(claim)})`,
  );
  return parseMarkdown(linked);
}

export function claimAnchor(claim: number): string {
  return `#claim-${claim + 1}`;
}

/** Whether the sources bear the claim out, in words. */
export function verdictWords({ supported, number, reason }: Claim): string {
  if (supported) return `Source ${number} bears this out`;
  return number === null
    ? 'No source that was read bears this out'
    : `Source ${number} does not bear this out: ${reason}`;
}
