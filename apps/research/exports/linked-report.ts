import type { Claim } from '../api-types.ts';
import { judgeText } from '../citations/judge-words.ts';
import { rewriteMarks } from '../citations/marks.ts';
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

/** Whether the sources bear the claim out, in words, and who says so. */
export function verdictText(claim: Claim): string {
  const { supported, number, reason } = claim;
  if (number === null) return 'No source that was read bears this out';
  if (claim.judge === 'none') return `Source ${number} was not checked for this: ${reason}`;
  return supported
    ? `Source ${number} bears this out (${judgeText(claim)})`
    : `Source ${number} does not bear this out: ${reason} (${judgeText(claim)})`;
}
