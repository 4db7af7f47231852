import type { Logger } from '@trunkline/config';
import { interruptionOf, type RunningTool, type Tool, type ToolContext } from '@trunkline/llm';
import type { Clock } from '@trunkline/schedule';
import { BoundedMap, Deadline, errorMessage, whenAborted } from '@trunkline/std';
import type { DeliveryPort } from '../../delivery/delivery.ts';
import { toolTimeoutMs } from '../../turn/persona.ts';

export interface ToolRunsOptions {
  delivery: DeliveryPort;
  clock: Clock;
  logger: Logger;
}

/** The reply that calls a tool. */
export interface ReplyContext {
  userId: string;
  /** Fulfilled when the reply is committed. */
  committed: Promise<void>;
  /** Called when a call starts that goes on when the reply is stopped. */
  started(toolCallId: string): void;
  /** When the caller began to say what it answers. */
  saidAt: number;
}

/** One execution of a tool; equal calls share it while it runs. */
interface ToolRun {
  key: string;
  userId: string;
  tool: RunningTool;
  input: unknown;
  /** When the caller began to say what started it. */
  saidAt: number;
  /** Calls that wait for the result. */
  waiting: number;
  /** The result, or a text that starts with `Error:`; never rejects. */
  done: Promise<string>;
  /** Set once it is done and no call was waiting. */
  result: string | undefined;
  /** Aborted when a later call got the result, so that it is not announced as well. */
  collected: AbortController;
}

/** A run that held the floor. */
interface HeldRun {
  result: string;
  saidAt: number;
  endedAt: number;
}

/** The result of a call that goes on, as an interrupted turn and the history have it. */
export const stillRunning =
  'Still running: it was started and goes on although the user went on talking. Do not start it again. Its result is announced when it is there; to wait for it, make the same call with exactly the same arguments.';

const mostRunning = 16;
const mostUncollected = 200;
/** A call waits longer than its run may take, so that the run's own error is reported. */
const graceMs = 5000;

/**
 * Runs the tools of calls. A tool that is not cancelled by an interruption outlives it: the same call made again joins
 * the run, and a result that nobody waited for is announced at the next pause.
 */
export class ToolRuns {
  readonly #options: ToolRunsOptions;
  readonly #stopping = new AbortController();
  readonly #runs = new Map<string, ToolRun>();
  /** The last runs that held the floor. An order that was repeated while it ran is the same order. */
  readonly #held = new BoundedMap<string, HeldRun>(mostUncollected);

  constructor(options: ToolRunsOptions) {
    this.#options = options;
  }

  /** The tool as a reply calls it. A preemptive reply may be thrown away, so no tool runs before it is committed. */
  wrap(tool: Tool, reply: ReplyContext): Tool {
    if (tool.pause) return tool;
    const isShared = interruptionOf(tool) !== 'cancel';
    return {
      ...tool,
      ...(isShared && { timeoutMs: limitOf(tool) + graceMs }),
      execute: async (input, context) => {
        await reply.committed;
        // The reply may have been abandoned in the moment in which it was committed.
        context.signal.throwIfAborted();
        if (!isShared) return await tool.execute(input, context);
        reply.started(context.toolCallId);
        return await this.#call(reply, tool, input, context);
      },
    };
  }

  /** Cancels what runs; users are notified of what they still waited for. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#runs.values()].map(({ done }) => done));
  }

  async #call(
    { userId, saidAt }: ReplyContext,
    tool: RunningTool,
    input: unknown,
    context: ToolContext,
  ): Promise<string> {
    this.#stopping.signal.throwIfAborted();
    const { kind, id } = context.principal ?? {};
    const key = JSON.stringify([userId, kind, id, tool.name, tool.callKey?.(input) ?? sorted(input)]);
    const held = this.#held.get(key);
    this.#held.delete(key);
    const run = this.#runs.get(key);
    if (run?.result !== undefined) return this.#collect(run, run.result);
    if (held !== undefined && held.saidAt < saidAt && saidAt < held.endedAt) return held.result;
    const running = [...this.#runs.values()].filter((other) => other.result === undefined);
    if (run === undefined && running.filter((other) => other.userId === userId).length >= mostRunning)
      return 'Error: too many calls of tools are still running; wait until one of them is done.';
    return await join(run ?? this.#start({ key, userId, tool, input, saidAt }, context), context.signal);
  }

  #start(call: Pick<ToolRun, 'key' | 'userId' | 'tool' | 'input' | 'saidAt'>, context: ToolContext): ToolRun {
    const done = execute(call.tool, call.input, context, this.#stopping.signal);
    const run: ToolRun = { ...call, waiting: 0, done, result: undefined, collected: new AbortController() };
    this.#runs.set(call.key, run);
    run.done = done.then((result) => {
      const endedAt = this.#options.clock.now();
      if (interruptionOf(call.tool) === 'hold')
        this.#held.set(run.key, { result, saidAt: run.saidAt, endedAt });
      if (run.waiting > 0) this.#runs.delete(run.key);
      else this.#announce(run, result);
      return result;
    });
    return run;
  }

  #collect(run: ToolRun, result: string): string {
    this.#runs.delete(run.key);
    run.collected.abort();
    return result;
  }

  #announce(run: ToolRun, result: string): void {
    const { delivery, logger } = this.#options;
    const { userId, tool, input, collected } = run;
    run.result = result;
    this.#dropUncollected();
    const failure = /^error:\s*/i;
    const origins = tool.external ? { origins: [{ kind: tool.name, source: '' }] } : {};
    try {
      delivery.deliver(userId, {
        from: tool.answeredBy?.(input) ?? tool.name.replaceAll('_', ' '),
        text: failure.test(result) ? `Sorry, that did not work: ${result.replace(failure, '')}` : result,
        policy: 'next_silence',
        ...origins,
        outcome: { name: tool.name, input, result, ...origins },
        withdrawn: collected.signal,
        heard: () => this.#runs.delete(run.key),
      });
    } catch (error) {
      logger.error({ err: error, tool: tool.name }, 'failed to store tool result');
    }
  }

  /** What is dropped is still announced; only a repeated call does not find it any more. */
  #dropUncollected(): void {
    const uncollected = [...this.#runs.values()].filter(({ result }) => result !== undefined);
    for (const { key } of uncollected.slice(0, -mostUncollected)) this.#runs.delete(key);
  }
}

/** The result of a run. A turn that ends early stops waiting; the run goes on. */
async function join(run: ToolRun, signal: AbortSignal): Promise<string> {
  run.waiting += 1;
  const leave = () => {
    run.waiting -= 1;
  };
  signal.addEventListener('abort', leave, { once: true });
  const result = await run.done;
  signal.removeEventListener('abort', leave);
  return result;
}

async function execute(
  tool: RunningTool,
  input: unknown,
  context: ToolContext,
  stopping: AbortSignal,
): Promise<string> {
  const deadline = new Deadline({ timeoutMs: limitOf(tool), signal: stopping });
  const { signal } = deadline;
  try {
    return await Promise.race([tool.execute(input, { ...context, signal }), whenAborted(signal)]);
  } catch (error) {
    if (stopping.aborted) return 'Error: the service was restarted before the answer came; please ask again.';
    if (deadline.isExpired)
      return `Error: ${tool.name} took longer than ${limitOf(tool) / 1000} s and was stopped.`;
    const words = errorMessage(error);
    return /^error:/i.test(words) ? words : `Error: ${words}`;
  } finally {
    deadline.clear();
  }
}

function limitOf({ timeoutMs = toolTimeoutMs }: RunningTool): number {
  return timeoutMs;
}

/** The arguments with their keys in order and no blanks around texts. */
function sorted(value: unknown): unknown {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, sorted(field)] as const);
  return fields.toSorted(([left], [right]) => (left < right ? -1 : 1));
}
