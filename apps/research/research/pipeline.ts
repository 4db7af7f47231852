import { setImmediate as breathe } from 'node:timers/promises';
import { z } from 'zod';
import { callOf, withoutAddresses } from '../citations/calls.ts';
import { oneLine } from '../text/sentences.ts';
import { stem, tokenize } from '../text/words.ts';
import { researchDimension, SourceReader } from './dimension.ts';
import { DraftWriter } from './draft-writer.ts';
import { type Job, LONGEST_NAME, type PlannedDimension } from './job.ts';
import { ResearchError, type RunContext } from './run-context.ts';

const MOST_GAPS = 3;

/** Passes of research and evaluation altogether. */
const MOST_PASSES = 3;

const gapsSchema = z.object({ gaps: z.array(z.string().min(1)) });

const GAP_INSTRUCTIONS = `You judge whether research answers its query. Name at most ${MOST_GAPS} gaps: questions that the query needs answered, that the summaries do not answer, and that a web search could. Name none when the query is answered.`;

const LEAST = 3;

const MOST = 6;

const MOST_QUERIES = 3;

const MOST_LOOKED_AT = 50;

const planSchema = z.object({
  dimensions: z
    .array(z.object({ name: z.string().min(1), queries: z.array(z.string().min(1)).min(1) }))
    .min(LEAST),
});

const SCOPE_INSTRUCTIONS = `You plan research. Split the query into ${LEAST} to ${MOST} dimensions that together answer it and do not overlap.
Name each dimension in at most ten words, and give it one to three short queries for a search engine.`;

/** How a run of the pipeline ended: the job is done, was cancelled, or waits for the user's word on its plan. */
export type RunEnd = 'complete' | 'cancelled' | 'waiting';

/** Runs a job from the phase it is in. Every step forward is written down together with its events. */
export async function runPipeline(context: RunContext, job: Job): Promise<RunEnd> {
  const drafts = new DraftWriter(context);
  try {
    return await runPhases(context, job, drafts);
  } finally {
    await drafts.stop();
  }
}

async function runPhases(context: RunContext, job: Job, drafts: DraftWriter): Promise<RunEnd> {
  if (job.status === 'cancelled') return 'cancelled';
  let { phase, iteration } = job;
  if (phase === 'scope') {
    if (job.awaitingPlan) return 'waiting';
    await scope(context);
    if (context.isCancelled()) return 'cancelled';
    if (context.options.reviewPlan) return 'waiting';
    phase = 'research';
  }
  while (phase === 'research' || phase === 'evaluate') {
    if (phase === 'research') await research(context, iteration);
    if (context.isCancelled()) return 'cancelled';
    phase = await evaluatePass(context, drafts, { phase, iteration });
    if (phase === 'research') iteration += 1;
  }
  const { synthesise } = await import('./synthesis.ts');
  await synthesise(context, drafts);
  return 'complete';
}

async function scope(context: RunContext): Promise<void> {
  const { id, jobs, findings, options } = context;
  const planned = await planDimensions(context);
  const type = options.reviewPlan ? 'scope_proposed' : 'scope_complete';
  jobs.commit(id, [{ type, data: planData(planned) }], () => {
    findings.addDimensions(id, planned, 1);
    jobs.update(id, options.reviewPlan ? { awaitingPlan: true } : { phase: 'research' });
  });
}

/**
 * The dimensions of this pass side by side. After a cancellation those under way finish and no other begins. When one fails
 * the others are broken off first: none may go on writing into a job that has ended or was taken up again.
 */
async function research(given: RunContext, iteration: number): Promise<void> {
  const giveUp = new AbortController();
  const context = stoppedBy(given, giveUp.signal);
  const { id, findings, settings, budget } = context;
  const reading = new SourceReader(context);
  const open = findings
    .dimensions(id)
    .filter(({ state, iteration: pass }) => state !== 'done' && pass === iteration);
  const next = async (): Promise<void> => {
    const isOver =
      context.isCancelled() ||
      (budget.spent('research') !== undefined && findings.countSources(id, 'read') > 0);
    const dimension = isOver ? undefined : open.shift();
    if (dimension === undefined) return;
    await researchDimension(context, dimension, reading);
    await next();
  };
  const work = Array.from({ length: settings.parallelDimensions }, next);
  await Promise.allSettled(work.map((lane) => lane.catch((error: unknown) => giveUp.abort(error))));
  giveUp.signal.throwIfAborted();
}

function stoppedBy(context: RunContext, giveUp: AbortSignal): RunContext {
  const stopSignal = AbortSignal.any([context.stopSignal, giveUp]);
  return { ...context, stopSignal, ask: { ...context.ask, signal: stopSignal } };
}

async function evaluatePass(
  context: RunContext,
  drafts: DraftWriter,
  { phase, iteration }: Pick<Job, 'phase' | 'iteration'>,
): Promise<'research' | 'synthesis'> {
  const { id, jobs, findings, query } = context;
  refuseEmptiness(context);
  if (phase === 'research')
    jobs.commit(id, [{ type: 'evaluate_started', data: { iteration } }], () =>
      jobs.update(id, { phase: 'evaluate' }),
    );
  const [{ gaps, stopReason }] = await Promise.all([
    evaluate(context, iteration),
    writeAhead(context, drafts),
  ]);
  const data = { gaps, hasGaps: gaps.length > 0, iteration, ...(stopReason !== undefined && { stopReason }) };
  const events = [{ type: 'evaluate_complete', data }];
  if (stopReason === undefined) {
    jobs.commit(id, events, () => {
      findings.addDimensions(id, gapDimensions(gaps, query), iteration + 1);
      jobs.update(id, { phase: 'research', iteration: iteration + 1 });
    });
    return 'research';
  }
  jobs.commit(id, [...events, { type: 'synthesis_started' }], () => jobs.update(id, { phase: 'synthesis' }));
  return 'synthesis';
}

/** Sections are begun early, unless a limit of tokens keeps a share for the report that they would take from research. */
async function writeAhead({ options }: RunContext, drafts: DraftWriter): Promise<void> {
  if (options.budget.tokens !== undefined) return;
  // What they are written from takes a moment to choose: the evaluation goes out first.
  await breathe();
  drafts.begin();
}

/** Refuses to write a report without sources; the error says which service failed and how. */
function refuseEmptiness({ id, findings, query, options }: RunContext): void {
  if (findings.countSources(id, 'read') > 0) return;
  const troubles = [...new Set(findings.dimensions(id).flatMap((dimension) => dimension.troubles))];
  const unread = findings.sources(id).flatMap(({ problem }) => problem ?? []);
  const words = [
    ...(troubles.length > 0 && unread.length === 0 && options.sources.includes('files')
      ? ['Your files and the pages read before have nothing on it.']
      : []),
    ...troubles,
    ...(unread.length > 0
      ? [`${unread.length} page(s) were found but none could be read: ${unread.slice(0, 3).join(' ')}`]
      : []),
  ];
  const why =
    words.length > 0 ? words.join(' ') : `The search services answered, but have nothing on "${query}".`;
  throw new ResearchError(`Nothing was found to write a report from. ${why}`);
}

/** Decides which sides of the query are researched. */
async function planDimensions(context: RunContext): Promise<PlannedDimension[]> {
  const { query, model, ask, budget } = context;
  const request = { ...ask, instructions: SCOPE_INSTRUCTIONS, prompt: `Research query: ${query}` };
  const plan = await budget.within('research', context.signal, (signal, tokensLeft) =>
    model.object(planSchema, { ...request, signal, tokensLeft }),
  );
  const planned = distinct(plan?.dimensions ?? [], query);
  if (planned.length >= LEAST) return planned;
  // What merging left of a plan is filled up, as far as it does not say the same again.
  return distinct([...planned, ...standardPlan(query)], query).slice(0, LEAST);
}

/** Each dimension once, and no more than a job researches. */
function distinct(dimensions: readonly PlannedDimension[], query: string): PlannedDimension[] {
  const short = dimensions.slice(0, MOST_LOOKED_AT).map(({ queries, ...each }) => ({
    ...each,
    name: oneLine(each.name, LONGEST_NAME),
    queries: queries.slice(0, MOST_QUERIES).map((words) => oneLine(words, LONGEST_NAME)),
  }));
  const named = short.filter(({ name }) => name !== '');
  return mergeRepeated(named, query).slice(0, MOST);
}

/** The plan used if the model returns none. */
function standardPlan(query: string): PlannedDimension[] {
  return [
    { name: `Background: ${query}`, queries: [query, `${query} overview`] },
    { name: `Evidence and figures: ${query}`, queries: [`${query} evidence`, `${query} statistics`] },
    { name: `Limits and criticism: ${query}`, queries: [`${query} criticism`, `${query} problems`] },
  ];
}

type StopReason = 'no-gaps' | 'passes' | 'budget' | 'context' | 'no-new-sources';

interface Evaluation {
  gaps: string[];
  /** Why research ends here; missing when it goes on. */
  stopReason?: StopReason;
}

/** Looks for what is still missing, and says whether another pass is due. */
async function evaluate(context: RunContext, iteration: number): Promise<Evaluation> {
  const { budget, findings, id } = context;
  const { ask, signal: caller } = context;
  let stopReason: StopReason = 'budget';
  const gaps = await budget.within(
    'research',
    caller,
    (signal, tokensLeft) => findGaps({ ...context, ask: { ...ask, signal, tokensLeft } }),
    (_, cause) => (stopReason = cause),
  );
  if (gaps === undefined) return { gaps: [], stopReason };
  if (gaps.length === 0) return { gaps, stopReason: 'no-gaps' };
  if (iteration >= MOST_PASSES) return { gaps, stopReason: 'passes' };
  if (findings.countSources(id) >= (context.options.budget.sources ?? Number.POSITIVE_INFINITY))
    return { gaps, stopReason: 'budget' };
  return iteration > 1 && !passFoundSources(context, iteration)
    ? { gaps, stopReason: 'no-new-sources' }
    : { gaps };
}

async function findGaps({ query, model, ask, findings, id }: RunContext): Promise<string[]> {
  const dimensions = findings.dimensions(id);
  const summaries = dimensions.map(({ name, summary }) => `## ${name}\n${summary}`).join('\n\n');
  const prompt = `Research query: ${query}\n\n${summaries}`;
  const answer = await model.object(gapsSchema, { ...ask, instructions: GAP_INSTRUCTIONS, prompt });
  const known = dimensions.map(({ name }) => name);
  const gaps: string[] = [];
  for (const gap of (answer?.gaps ?? []).map((each) => oneLine(each, LONGEST_NAME)).filter(isHeadline))
    if (gap !== '' && ![...known, ...gaps].some((name) => isSamePoint(name, gap, query))) gaps.push(gap);
  return gaps.slice(0, MOST_GAPS);
}

/** A gap becomes a headline: none that a page may have dictated, as it tells its reader to do something or leads away. */
function isHeadline(gap: string): boolean {
  return callOf(gap) === undefined && withoutAddresses(gap) === gap;
}

/** Whether the pass read a new source; if not, another pass would not either. */
function passFoundSources({ findings, id }: RunContext, iteration: number): boolean {
  return findings
    .dimensions(id)
    .filter((dimension) => dimension.iteration === iteration)
    .some(({ position }) => findings.sourcesOf(id, position).some(({ state }) => state === 'read'));
}

function gapDimensions(gaps: readonly string[], query: string): PlannedDimension[] {
  return gaps.map((gap) => ({ name: gap, queries: [gap, oneLine(`${query} ${gap}`, LONGEST_NAME)] }));
}

/** Words without which a name says the same. */
const DISPENSABLE = new Set('a an the of and or in on its their'.split(' '));
/** Names of so many words are one point if one of them has a single word more. */
const LONG_NAME = 4;

/** Makes one point of those that say the same, with the queries of all; it knows the names that went into it. */
export function mergeRepeated(planned: readonly PlannedDimension[], query: string): PlannedDimension[] {
  const merged: PlannedDimension[] = [];
  for (const each of planned) {
    const same = merged.find(({ name }) => isSamePoint(name, each.name, query));
    if (same === undefined) merged.push({ ...each });
    else {
      same.queries = [...new Set([...same.queries, ...each.queries])].slice(0, MOST_QUERIES);
      same.merged = [...(same.merged ?? []), each.name, ...(each.merged ?? [])];
    }
  }
  return merged;
}

/** What an event tells of a plan. */
export function planData(planned: readonly PlannedDimension[]) {
  const merged = planned.flatMap(({ name, merged: names = [] }) =>
    names.map((other) => ({ name: other, into: name })),
  );
  return { dimensions: planned.map(({ name }) => name), ...(merged.length > 0 && { merged }) };
}

/** Whether two names say the same beside the query: equal words in any order and form, or of a long name all but one. */
function isSamePoint(left: string, right: string, query: string): boolean {
  const asked = nameWords(query);
  const [few = [], many = []] = [left, right]
    .map((name) => [...nameWords(name)].filter((word) => !asked.has(word)))
    .toSorted((a, b) => a.length - b.length);
  const extra = many.filter((word) => !few.includes(word));
  if (extra.length !== many.length - few.length) return false;
  if (extra.length === 0) return true;
  return extra.length === 1 && few.length >= LONG_NAME && !/\d/.test(extra[0] ?? '');
}

function nameWords(text: string): Set<string> {
  return new Set(
    tokenize(text)
      .filter((word) => !DISPENSABLE.has(word))
      .map(stem),
  );
}
