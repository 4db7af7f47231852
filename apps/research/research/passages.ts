import type { DocumentStore } from '../store/documents.ts';
import { sentenceSpans } from '../text/sentences.ts';
import { contentStems } from '../text/words.ts';

export interface Passage {
  text: string;
  score: number;
}

const LONGEST = 400;
/** Parts of a long text in which passages are looked for. */
const PARTS = 16;

/** The stretches of a stored text that have most to do with the question. */
export function passagesIn(
  documents: DocumentStore,
  documentId: number | null,
  question: string,
  most: number,
): Passage[] {
  return passagesFor(documents.excerpt(documentId, [question], PARTS).text, question, most);
}

/** The stretches of a text that have most to do with the question, in the order of the text. */
export function passagesFor(text: string, question: string, most: number): Passage[] {
  const wanted = new Set(contentStems(question));
  const scored = chunksOf(text).map((chunk, index) => ({
    text: chunk,
    index,
    score: scoreOf(chunk, wanted, index),
  }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .slice(0, most)
    .sort((left, right) => left.index - right.index)
    .map(({ text: passage, score }) => ({ text: passage, score }));
}

/** Whole sentences together up to the limit; headings and scraps are left out. */
function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let current = '';
  for (const { text: sentence } of sentenceSpans(text)) {
    if (!isProse(sentence)) continue;
    if (current !== '' && current.length + sentence.length > LONGEST) {
      chunks.push(current);
      current = '';
    }
    current = current === '' ? sentence.slice(0, LONGEST * 2) : `${current} ${sentence}`;
  }
  return current === '' ? chunks : [...chunks, current];
}

function isProse(sentence: string): boolean {
  return !sentence.startsWith('#') && sentence.split(/\s+/).length >= 4 && /[.!?…"”)]$/.test(sentence);
}

/** Shared words, of which each counts once; an opening passage is likelier to be to the point. */
function scoreOf(chunk: string, wanted: ReadonlySet<string>, index: number): number {
  const stems = new Set(contentStems(chunk));
  const hits = [...wanted].filter((stem) => stems.has(stem)).length;
  const opening = index === 0 ? 0.6 : 0;
  return hits + opening - (hits === 0 ? 0.55 : 0);
}
