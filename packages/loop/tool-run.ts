import type { Principal } from '@trunkline/identity';
import type { RunningTool, Tool } from '@trunkline/llm';
import { Deadline, errorMessage, whenAborted } from '@trunkline/std';
import { z } from 'zod';
import type { CheckpointCall } from './checkpoint.ts';
import type { RequestedCall } from './model-step.ts';
import type { ToolEnd, ToolStart } from './options.ts';

/** More calls than this in one step are a model gone astray. */
const mostCalls = 32;

/** What a tool run needs from the turn. */
export interface ToolDeps {
  tools: ReadonlyMap<string, Tool>;
  toolTimeoutMs: number;
  sessionId: string;
  principal?: Principal | undefined;
  scope?: string | undefined;
  signal: AbortSignal;
  /** Failed calls of this turn with what they said. */
  failures: Map<string, string[]>;
}

/** The same call may fail this often; after that it is not run again. */
const mostFailures = 2;
const longestQuote = 200;
const longestResult = 100_000;

/** A call that can run, that waits for an answer from outside, or whose result is known without running it. */
type Prepared =
  | { kind: 'run'; tool: RunningTool; input: unknown }
  | { kind: 'wait' }
  | { kind: 'refuse'; result: string };

/** Checks a call before it is run; every refusal is a text the model can act on. */
async function prepare(call: RequestedCall, { tools, failures }: ToolDeps): Promise<Prepared> {
  const tool = tools.get(call.name);
  if (tool === undefined) return refuse(`there is no tool named "${call.name}". ${available(tools)}`);
  if (call.unreadable)
    return refuse(`the arguments for ${call.name} are not valid JSON: ${quote(String(call.input))}`);
  const parsed = await tool.input.safeParseAsync(call.input);
  if (!parsed.success)
    return refuse(`the arguments for ${call.name} do not fit: ${z.prettifyError(parsed.error)}`);
  const before = failures.get(keyOf(call)) ?? [];
  if (before.length >= mostFailures) return refuse(repeated(call.name, before));
  if (tool.pause || tool.pausesFor?.(parsed.data)) return { kind: 'wait' };
  return { kind: 'run', tool, input: parsed.data };
}

/** Runs a tool within its time; whatever happens, the result is a text. */
async function run(call: RequestedCall, tool: RunningTool, input: unknown, deps: ToolDeps): Promise<string> {
  if (deps.signal.aborted) return stopped(tool);
  const limitMs = tool.timeoutMs ?? deps.toolTimeoutMs;
  const deadline = new Deadline({ signal: deps.signal, timeoutMs: limitMs });
  const { sessionId, principal, scope } = deps;
  const context = { signal: deadline.signal, sessionId, toolCallId: call.toolCallId, principal, scope };
  const execution = async () => tool.execute(input, context);
  try {
    return asText(await Promise.race([execution(), whenAborted(deadline.signal)]));
  } catch (error) {
    if (deadline.isExpired)
      return `Error: ${tool.name} took longer than ${limitMs / 1000} s and was stopped.`;
    if (deps.signal.aborted) return stopped(tool);
    return errorText(error);
  } finally {
    deadline.clear();
  }
}

function stopped({ name }: RunningTool): string {
  return `Error: ${name} was stopped with the turn.`;
}

/** Plugins are not type-checked, so a result may be anything, and of any length. */
function asText(result: unknown): string {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
  return text.length > longestResult ? `${text.slice(0, longestResult)}…[truncated]` : text;
}

function isFailure(result: string): boolean {
  return /^error:/i.test(result);
}

/** Remembers a failure, so that a model that repeats itself is told. */
function noteFailure(call: RequestedCall, result: string, { failures }: ToolDeps): void {
  failures.set(keyOf(call), [...(failures.get(keyOf(call)) ?? []), result]);
}

function keyOf({ name, input }: RequestedCall): string {
  return `${name} ${JSON.stringify(input)}`;
}

function refuse(reason: string): Prepared {
  return { kind: 'refuse', result: `Error: ${reason}` };
}

function available(tools: ReadonlyMap<string, Tool>): string {
  return tools.size === 0
    ? 'There are no tools in this conversation.'
    : `There are: ${[...tools.keys()].join(', ')}.`;
}

function repeated(name: string, before: string[]): string {
  return `this call of ${name} with the same arguments has failed ${before.length} times and was not run again; the last time: ${quote(before.at(-1) ?? '')} Change the arguments or do without.`;
}

function quote(text: string): string {
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text;
}

function errorText(error: unknown): string {
  const message = errorMessage(error, 'the tool failed without saying why');
  return isFailure(message) ? message : `Error: ${message}`;
}

interface Finished {
  index: number;
  result: string;
  durationMs: number;
}

/** Runs the calls of a step side by side. Calls that come back without a result wait for an answer from outside. */
export async function* runCalls(
  calls: RequestedCall[],
  deps: ToolDeps,
): AsyncGenerator<ToolStart | ToolEnd, CheckpointCall[]> {
  const outcomes = calls.map(({ toolCallId, name, input }): CheckpointCall => ({ toolCallId, name, input }));
  const running = new Map<number, Promise<Finished>>();
  for (const [index, call] of calls.entries()) {
    const work = await begin(call, index, deps);
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
    if (failed) noteFailure(call, result, deps);
    yield { type: 'tool-end', toolCallId: call.toolCallId, name: call.name, result, failed, durationMs };
  }
}

/** The work of a call, or nothing when it waits for an answer. */
async function begin(
  call: RequestedCall,
  index: number,
  deps: ToolDeps,
): Promise<(() => Promise<string>) | undefined> {
  if (index >= mostCalls)
    return async () => `Error: too many calls in one step; the first ${mostCalls} were run.`;
  const prepared = await prepare(call, deps);
  if (prepared.kind === 'wait') return undefined;
  if (prepared.kind === 'refuse') return async () => prepared.result;
  return () => run(call, prepared.tool, prepared.input, deps);
}

async function timed(index: number, work: () => Promise<string>): Promise<Finished> {
  const start = performance.now();
  const result = await work();
  return { index, result, durationMs: Math.round(performance.now() - start) };
}
