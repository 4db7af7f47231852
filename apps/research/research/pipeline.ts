import { setImmediate as breathe } from 'node:timers/promises';
import { researchDimension } from './dimension.ts';
import { DraftWriter } from './draft-writer.ts';
import { evaluate, gapDimensions } from './evaluate.ts';
import type { Job } from './job.ts';
import { ResearchError, type RunContext } from './run-context.ts';
import { planDimensions } from './scope.ts';
import { SourceReader } from './source-reader.ts';

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
  const dimensions = planned.map(({ name }) => name);
  const type = options.reviewPlan ? 'scope_proposed' : 'scope_complete';
  jobs.commit(id, [{ type, data: { dimensions } }], () => {
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

/** A report is never written from nothing: the words say which service failed and how. */
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
