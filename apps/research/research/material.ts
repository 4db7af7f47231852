import type { JobSource } from '../api-types.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { Excerpt } from '../store/parts.ts';
import { sentenceSpans } from '../text/sentences.ts';
import { contentStems, tokenize } from '../text/words.ts';
import type { Dimension, Passage } from './job.ts';
import type { RunContext } from './run-context.ts';

/** Parts of a long text that citations are checked against: as much as of a page. */
const CHECKED_PARTS = 48;

const LONGEST = 400;

/** Parts of a long text in which passages are looked for. */
const PARTS = 16;

/** A source and the number by which drafts cite it. */
export interface NumberedSource {
  number: number;
  source: JobSource;
}

/** A passage and the number of the source that it stands in. */
export interface NumberedPassage {
  number: number;
  text: string;
  score: number;
}

/** What one section is written from. */
export interface Material {
  dimension: Dimension;
  passages: NumberedPassage[];
  /** The sources of the dimension. */
  numbers: number[];
}

const PASSAGES_PER_SOURCE = 3;
const CANDIDATES_PER_SOURCE = 8;
/** What a passage loses when a section before has it, so that sections do not repeat each other. */
const REPEATED = 2;

/** The passages for each dimension, the best of each source first. The same findings always give the same material. */
export function chooseMaterial(context: RunContext, read: readonly NumberedSource[]): Material[] {
  const used = new Set<string>();
  const uses = context.findings.uses(context.id);
  return context.findings.dimensions(context.id).map((dimension) => {
    const sources = read.filter(({ source }) => uses.get(dimension.position)?.has(source.id));
    const passages = sources.flatMap((source) => choosePassages(context, dimension, source, used));
    for (const { text } of passages) used.add(text);
    return { dimension, passages, numbers: sources.map(({ number }) => number) };
  });
}

function choosePassages(
  context: RunContext,
  { name }: Dimension,
  { number, source }: NumberedSource,
  used: ReadonlySet<string>,
): NumberedPassage[] {
  return passagesOfSource(context, source.documentId, name)
    .map((passage) => ({
      number,
      text: passage.text,
      score: passage.score - (used.has(passage.text) ? REPEATED : 0),
    }))
    .toSorted((left, right) => right.score - left.score)
    .filter((passage, rank) => rank === 0 || !used.has(passage.text))
    .slice(0, PASSAGES_PER_SOURCE);
}

/** The passages of a source that have most to do with a dimension, in the order of the text: looked for once in a run. */
export function passagesOfSource(
  { documents, query, passages }: Pick<RunContext, 'documents' | 'query' | 'passages'>,
  documentId: number | null,
  name: string,
): Passage[] {
  const key = `${documentId} ${name}`;
  const found =
    passages.get(key) ?? passagesIn(documents, documentId, `${query} ${name}`, CANDIDATES_PER_SOURCE);
  passages.set(key, found);
  return found;
}

/** The stretches of a stored text that have most to do with the question. */
export function passagesIn(
  documents: DocumentStore,
  documentId: number | null,
  question: string,
  most: number,
): Passage[] {
  const excerpt = documents.excerpt(documentId, [question], PARTS);
  return passagesFor(excerpt.text, question, most, (at) => excerpt.isMain(at));
}

/** What a passage beside the main part, such as a side box or a footer, is worth next to one inside it. */
const ASIDE = 0.5;

/** The stretches of a text that have most to do with the question, in the order of the text. */
export function passagesFor(
  text: string,
  question: string,
  most: number,
  isMain: (at: number) => boolean = () => true,
): Passage[] {
  const wanted = new Set(contentStems(question));
  const scored = chunksOf(text).map(({ text: chunk, start }, index) => ({
    text: chunk,
    index,
    score: scoreOf(chunk, wanted, index) * (isMain(start) ? 1 : ASIDE),
  }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .slice(0, most)
    .sort((left, right) => left.index - right.index)
    .map(({ text: passage, score }) => ({ text: passage, score }));
}

interface Chunk {
  text: string;
  start: number;
}

/** Whole sentences together up to the limit, and at most one table; headings and scraps are left out. */
function chunksOf(text: string): Chunk[] {
  const chunks: Chunk[] = [];
  let current: Chunk | undefined;
  /** The first row of the table that the sentence stands in, without which its cells say little. */
  let head = '';
  const spans = sentenceSpans(text);
  for (const [index, { text: sentence, start, end }] of spans.entries()) {
    const isOfTable = sentence.startsWith('|');
    if (!isOfTable) head = '';
    if (!isProse(sentence)) continue;
    const isHead = isOfTable && (head === '' || RULE.test(text.slice(end, spans[index + 1]?.start)));
    if (isHead) head = sentence;
    const isOther = isHead && current !== undefined && /^\|/m.test(current.text);
    if (current !== undefined && (isOther || current.text.length + sentence.length > LONGEST)) {
      chunks.push(current);
      current = undefined;
    }
    const isApart = isStructure(sentence) || current?.text.endsWith('|');
    current =
      current === undefined
        ? { text: (isOfTable && !isHead ? `${head}\n${sentence}` : sentence).slice(0, LONGEST * 2), start }
        : { text: `${current.text}${isApart ? '\n' : ' '}${sentence}`, start: current.start };
  }
  return current === undefined ? chunks : [...chunks, current];
}

/** The line below the head of a table. */
const RULE = /^\s*\|\s*:?-{2,}/;

function isProse(sentence: string): boolean {
  if (sentence.startsWith('#')) return false;
  return isStructure(sentence) || (tokenize(sentence).length >= 4 && isEnded(sentence));
}

/** Thai and Lao end a sentence with a space. */
function isEnded(sentence: string): boolean {
  return /[.!?…"”»)؟۔।॥。！？｡」』）]$|[\p{Script=Thai}\p{Script=Lao}]/u.test(sentence);
}

/** Rows of tables and definitions say something though they are no sentences. */
function isStructure(sentence: string): boolean {
  return /^\|.*[\p{L}\p{N}].*\|$|^- [^:]{1,80}: \S/u.test(sentence);
}

/** Shared words, of which each counts once; an opening passage is likelier to be to the point. */
function scoreOf(chunk: string, wanted: ReadonlySet<string>, index: number): number {
  const stems = new Set(contentStems(chunk));
  const hits = [...wanted].filter((stem) => stems.has(stem)).length;
  const opening = index === 0 ? 0.6 : 0;
  return hits + opening - (hits === 0 ? 0.55 : 0);
}

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
  return documents.excerpt(documentId, ordered.slice(0, CHECKED_PARTS), CHECKED_PARTS);
}
