import type { JobSource } from '../api-types.ts';
import type { Dimension } from './job.ts';
import { passagesIn } from './passages.ts';
import type { RunContext } from './run-context.ts';

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
  return context.findings.dimensions(context.id).map((dimension) => {
    const sources = sourcesOf(context, dimension, read);
    const passages = sources.flatMap((source) => choosePassages(context, dimension, source, used));
    for (const { text } of passages) used.add(text);
    return { dimension, passages, numbers: sources.map(({ number }) => number) };
  });
}

function choosePassages(
  { documents, query }: RunContext,
  { name }: Dimension,
  { number, source }: NumberedSource,
  used: ReadonlySet<string>,
): NumberedPassage[] {
  return passagesIn(documents, source.documentId, `${query} ${name}`, CANDIDATES_PER_SOURCE)
    .map((passage) => ({
      number,
      text: passage.text,
      score: passage.score - (used.has(passage.text) ? REPEATED : 0),
    }))
    .toSorted((left, right) => right.score - left.score)
    .slice(0, PASSAGES_PER_SOURCE)
    .filter((passage, rank) => rank === 0 || !used.has(passage.text));
}

/** What the dimension found; a duplicate is replaced by the source it repeats. */
function sourcesOf(
  { id, findings }: RunContext,
  { position }: Dimension,
  read: readonly NumberedSource[],
): NumberedSource[] {
  const wanted = new Set(findings.sourcesOf(id, position).map((source) => source.duplicateOf ?? source.id));
  return read.filter(({ source }) => wanted.has(source.id));
}
