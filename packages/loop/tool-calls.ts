import type { CheckpointCall } from './checkpoint.ts';
import type { ToolEnd, ToolStart } from './events.ts';
import type { RequestedCall } from './model-step.ts';
import { isFailure, noteFailure, prepare, run, type ToolSurroundings } from './tool-run.ts';

/** More calls than this in one step are a model gone astray. */
const mostCalls = 32;

interface Finished {
  index: number;
  result: string;
  durationMs: number;
}

/** Runs the calls of a step side by side. Calls that come back without a result wait for an answer from outside. */
export async function* runCalls(
  calls: RequestedCall[],
  surroundings: ToolSurroundings,
): AsyncGenerator<ToolStart | ToolEnd, CheckpointCall[]> {
  const outcomes = calls.map(({ toolCallId, name, input }): CheckpointCall => ({ toolCallId, name, input }));
  const running = new Map<number, Promise<Finished>>();
  for (const [index, call] of calls.entries()) {
    const work = await begin(call, index, surroundings);
    if (work === undefined) continue;
    yield { type: 'tool-start', toolCallId: call.toolCallId, name: call.name, input: call.input };
    running.set(index, timed(index, work));
  }
  while (running.size > 0) {
    const { index, result, durationMs } = await Promise.race(running.values());
    running.delete(index);
    yield* conclude(index, result, durationMs);
  }
  return outcomes;

  function* conclude(index: number, result: string, durationMs: number): Generator<ToolEnd> {
    const [call, outcome] = [calls[index], outcomes[index]];
    if (call === undefined || outcome === undefined) return;
    outcome.result = result;
    const failed = isFailure(result);
    if (failed) noteFailure(call, result, surroundings);
    yield { type: 'tool-end', toolCallId: call.toolCallId, name: call.name, result, failed, durationMs };
  }
}

/** The work of a call, or nothing when it waits for an answer. */
async function begin(
  call: RequestedCall,
  index: number,
  surroundings: ToolSurroundings,
): Promise<(() => Promise<string>) | undefined> {
  if (index >= mostCalls)
    return async () => `Error: too many calls in one step; the first ${mostCalls} were run.`;
  const prepared = await prepare(call, surroundings);
  if (prepared.kind === 'wait') return undefined;
  if (prepared.kind === 'refuse') return async () => prepared.result;
  return () => run(call, prepared.tool, prepared.input, surroundings);
}

async function timed(index: number, work: () => Promise<string>): Promise<Finished> {
  const start = performance.now();
  const result = await work();
  return { index, result, durationMs: Math.round(performance.now() - start) };
}
