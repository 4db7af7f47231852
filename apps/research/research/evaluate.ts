import { z } from 'zod';
import { oneLine } from '../text/line.ts';
import { LONGEST_NAME, type PlannedDimension } from './job.ts';
import type { RunContext } from './run-context.ts';

const MOST_GAPS = 3;
/** Passes of research and evaluation altogether. */
const MOST_PASSES = 3;

type StopReason = 'no-gaps' | 'passes' | 'budget' | 'no-new-sources';

export interface Evaluation {
  gaps: string[];
  /** Why research ends here; missing when it goes on. */
  stopReason?: StopReason;
}

const gapsSchema = z.object({ gaps: z.array(z.string().min(1)) });
const INSTRUCTIONS = `You judge whether research answers its query. Name at most ${MOST_GAPS} gaps: questions that the query needs answered, that the summaries do not answer, and that a web search could. Name none when the query is answered.`;

/** Looks for what is still missing, and says whether another pass is due. */
export async function evaluate(context: RunContext, iteration: number): Promise<Evaluation> {
  const { budget, findings, id } = context;
  const gaps = await budget.within('research', context.signal, (signal) => findGaps(context, signal));
  if (gaps === undefined) return { gaps: [], stopReason: 'budget' };
  if (gaps.length === 0) return { gaps, stopReason: 'no-gaps' };
  if (iteration >= MOST_PASSES) return { gaps, stopReason: 'passes' };
  if (findings.countSources(id) >= (context.options.budget.sources ?? Number.POSITIVE_INFINITY))
    return { gaps, stopReason: 'budget' };
  return iteration > 1 && !passFoundSources(context, iteration)
    ? { gaps, stopReason: 'no-new-sources' }
    : { gaps };
}

async function findGaps(
  { query, model, ask, findings, id }: RunContext,
  signal: AbortSignal,
): Promise<string[]> {
  const dimensions = findings.dimensions(id);
  const summaries = dimensions.map(({ name, summary }) => `## ${name}\n${summary}`).join('\n\n');
  const prompt = `Research query: ${query}\n\n${summaries}`;
  const answer = await model.object(gapsSchema, { ...ask, signal, instructions: INSTRUCTIONS, prompt });
  const known = new Set(dimensions.map(({ name }) => name.toLowerCase()));
  const gaps = (answer?.gaps ?? [])
    .map((gap) => oneLine(gap, LONGEST_NAME))
    .filter((gap) => gap !== '' && !known.has(gap.toLowerCase()));
  return [...new Set(gaps)].slice(0, MOST_GAPS);
}

/** A pass that found nothing new will not be the last one to do so. */
function passFoundSources({ findings, id }: RunContext, iteration: number): boolean {
  return findings
    .dimensions(id)
    .filter((dimension) => dimension.iteration === iteration)
    .some(({ position }) => findings.sourcesOf(id, position).some(({ state }) => state === 'read'));
}

export function gapDimensions(gaps: readonly string[], query: string): PlannedDimension[] {
  return gaps.map((gap) => ({ name: gap, queries: [gap, oneLine(`${query} ${gap}`, LONGEST_NAME)] }));
}
