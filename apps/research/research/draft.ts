import { sentenceSpans } from '../text/sentences.ts';
import type { Material, NumberedPassage } from './material.ts';
import type { RunContext } from './run-context.ts';

const SENTENCES = 5;

const INSTRUCTIONS = `You write one part of a report. Use only the numbered passages, and say nothing that they do not say.
End every sentence with the number of each passage that bears it out, as [3] or [3][5]. Keep numbers, names, dates and reservations exactly as they are.
Where passages disagree, say so. Write one to three paragraphs of plain prose without headings and without a list of sources.`;

/** One section in draft: sentences that cite sources by number. Without budget for the model the sources speak themselves. */
export async function draftSection(context: RunContext, { dimension, passages }: Material): Promise<string> {
  const { query, budget, model, ask } = context;
  if (passages.length === 0) return '';
  const about = `, as one part of the work on ${query.replace(/[\n:]/g, ' ')}`;
  const text = await budget.within('report', context.signal, (signal) =>
    writeFrom(passages, { model, ask: { ...ask, signal }, question: dimension.name, about }),
  );
  return text ?? extract(passages);
}

interface Writing {
  model: RunContext['model'];
  ask: RunContext['ask'];
  question: string;
  /** What the question belongs to, as the end of a sentence. */
  about: string;
}

/** What the model makes of the passages; what they say themselves when it makes nothing of them. */
export async function writeFrom(
  passages: readonly NumberedPassage[],
  { model, ask, question, about }: Writing,
): Promise<string> {
  const material = passages
    .map(({ number, text }) => `[${number}] ${text.replace(/\s+/g, ' ')}`)
    .join('\n\n');
  const order = `Answer the question using the numbered passages below. The question is "${question.replace(/["\n:]/g, ' ')}"${about}`;
  const text = await model.text({ ...ask, instructions: INSTRUCTIONS, prompt: `${order}\n\n${material}` });
  return text.trim() === '' ? extract(passages) : text.trim();
}

/** The first sentences of the best passages, each with the source that it stands in. */
function extract(passages: readonly NumberedPassage[]): string {
  return passages
    .toSorted((left, right) => right.score - left.score)
    .slice(0, SENTENCES)
    .flatMap(({ number, text }) => {
      const first = sentenceSpans(text)[0]?.text;
      return first === undefined ? [] : [`${first} [${number}]`];
    })
    .join(' ');
}
