import { sentenceSpans } from '../text/sentences.ts';
import type { Dimension, JobSource } from './job.ts';
import { passagesFor } from './passages.ts';
import type { RunContext } from './run-context.ts';

const PASSAGES_PER_SOURCE = 3;
const SENTENCES = 5;

const INSTRUCTIONS = `You write one part of a report. Use only the numbered passages, and say nothing that they do not say.
End every sentence with the number of each passage that bears it out, as [3] or [3][5]. Keep numbers, names, dates and reservations exactly as they are.
Where passages disagree, say so. Write one to three paragraphs of plain prose without headings and without a list of sources.`;

/** A source and the number by which drafts cite it. */
export interface NumberedSource {
  number: number;
  source: JobSource;
}

/** One section in draft: sentences that cite sources by number. Without budget for the model the sources speak themselves. */
export async function draftSection(
  context: RunContext,
  dimension: Dimension,
  sources: readonly NumberedSource[],
): Promise<string> {
  const { query, documents, budget, model, ask, signal } = context;
  const numbered = sources.flatMap(({ number, source }) =>
    passagesFor(
      documents.get(source.documentId ?? 0)?.text ?? '',
      `${query} ${dimension.name}`,
      PASSAGES_PER_SOURCE,
    ).map(({ text, score }) => ({ id: number, text, score })),
  );
  if (numbered.length === 0) return '';
  if (budget.spent('report') !== undefined) return extract(numbered);
  const material = numbered.map(({ id, text }) => `[${id}] ${text.replace(/\s+/g, ' ')}`).join('\n\n');
  const question = dimension.name.replace(/["\n:]/g, ' ');
  const order = `Answer the question using the numbered passages below. The question is "${question}", as one part of the work on ${query.replace(/[\n:]/g, ' ')}`;
  const text = await model.text({
    ...ask,
    signal,
    instructions: INSTRUCTIONS,
    prompt: `${order}\n\n${material}`,
  });
  return text.trim() === '' ? extract(numbered) : text.trim();
}

/** The first sentences of the best passages, each with the source that it stands in. */
function extract(passages: readonly { id: number; text: string; score: number }[]): string {
  return passages
    .toSorted((left, right) => right.score - left.score)
    .slice(0, SENTENCES)
    .flatMap(({ id, text }) => {
      const first = sentenceSpans(text)[0]?.text;
      return first === undefined ? [] : [`${first} [${id}]`];
    })
    .join(' ');
}
