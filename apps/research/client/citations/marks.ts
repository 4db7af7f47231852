import type { CitedSource, Claim } from '../../api-types.ts';
import { type CitationMark, citationState, rewriteMarks } from '../../citations/marks.ts';

/** What a citation leads to. */
export interface CitationTarget {
  claim: Claim | undefined;
  source: CitedSource | undefined;
  number: number | undefined;
}

/** The Markdown with its citations as links that say in their address what they lead to. */
export function linkMarks(markdown: string, claims: readonly Claim[]): string {
  return rewriteMarks(markdown, claims, (mark) => `[\\${mark.text.slice(0, -1)}\\]](#${nameOf(mark)})`);
}

function nameOf({ claim, number, isSupported }: CitationMark): string {
  if (claim === undefined) return `source-${number}`;
  return `${isSupported ? 'claim' : 'doubt'}-${claim}`;
}

/** What the link of a citation leads to; undefined for other links. */
export function targetOf(
  href: string,
  claims: readonly Claim[],
  sources: readonly CitedSource[],
): CitationTarget | undefined {
  const [, kind, digits] = /^#(claim|doubt|source)-(\d+)$/.exec(href) ?? [];
  if (kind === undefined) return undefined;
  const claim = kind === 'source' ? undefined : claims[Number(digits)];
  const number = kind === 'source' ? Number(digits) : (claim?.number ?? undefined);
  const isMeant = (source: CitedSource) =>
    claim === undefined || source.id === undefined ? source.number === number : source.id === claim.sourceId;
  return { claim, number, source: number === undefined ? undefined : sources.find(isMeant) };
}

/** The citation read aloud. */
export function labelOf({ claim, number, source }: CitationTarget): string {
  const title = source === undefined ? '' : `: ${source.title}`;
  if (number === undefined) return 'No source bears this out';
  if (claim === undefined) return `Source ${number}${title}`;
  return `Source ${number}${title}, ${citationState(claim)}`;
}
