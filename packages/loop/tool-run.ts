import type { Principal } from '@trunkline/identity';
import type { RunningTool, Tool } from '@trunkline/llm';
import { Deadline, errorMessage, whenAborted } from '@trunkline/std';
import { z } from 'zod';
import type { RequestedCall } from './model-step.ts';

/** What a tool run needs from the turn. */
export interface ToolSurroundings {
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
export type Prepared =
  | { kind: 'run'; tool: RunningTool; input: unknown }
  | { kind: 'wait' }
  | { kind: 'refuse'; result: string };

/** Checks a call before it is run; every refusal is a text the model can act on. */
export async function prepare(call: RequestedCall, { tools, failures }: ToolSurroundings): Promise<Prepared> {
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
export async function run(
  call: RequestedCall,
  tool: RunningTool,
  input: unknown,
  surroundings: ToolSurroundings,
): Promise<string> {
  if (surroundings.signal.aborted) return stopped(tool);
  const limitMs = tool.timeoutMs ?? surroundings.toolTimeoutMs;
  const deadline = new Deadline({ signal: surroundings.signal, timeoutMs: limitMs });
  const { sessionId, principal, scope } = surroundings;
  const context = { signal: deadline.signal, sessionId, toolCallId: call.toolCallId, principal, scope };
  const execution = async () => tool.execute(input, context);
  try {
    return asText(await Promise.race([execution(), whenAborted(deadline.signal)]));
  } catch (error) {
    if (deadline.isExpired)
      return `Error: ${tool.name} took longer than ${limitMs / 1000} s and was stopped.`;
    if (surroundings.signal.aborted) return stopped(tool);
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

export function isFailure(result: string): boolean {
  return /^error:/i.test(result);
}

/** Remembers a failure, so that a model that repeats itself is told. */
export function noteFailure(call: RequestedCall, result: string, { failures }: ToolSurroundings): void {
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
