import type { DocumentStore } from '../store/documents.ts';
import type { Excerpt } from '../store/excerpt.ts';
import { sentenceSpans } from '../text/sentences.ts';

/** Parts of a long text that citations are checked against: as much as of a page. */
const PARTS = 48;

/** What of a source its citations are checked against: of a long one the parts nearest to the sentences that may cite it. */
export function checkedExcerpt(
  documents: DocumentStore,
  documentId: number | null,
  number: number,
  drafts: readonly string[],
): Excerpt {
  const sentences = drafts.flatMap((draft) => sentenceSpans(draft).map(({ text }) => text));
  const isCiting = (sentence: string) => sentence.includes(`[${number}]`);
  const ordered = [...sentences.filter(isCiting), ...sentences.filter((sentence) => !isCiting(sentence))];
  return documents.excerpt(documentId, ordered.slice(0, PARTS), PARTS);
}
