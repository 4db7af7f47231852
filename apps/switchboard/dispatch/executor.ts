import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery } from '@trunkline/bus';
import type { Principal } from '@trunkline/identity';
import type { Slot } from '@trunkline/std';

/** How often a task of another service is asked after by somebody who waits for it. */
const pauseMs = 5000;

/** Work for one skill of one agent. */
export interface SkillRequest {
  /** The same when the request comes again after a restart. */
  requestId: string;
  skill: string;
  /** Who must do it; anybody who has the skill when not given. */
  agent?: string;
  content: string;
  correlationId: string;
  /** What was said before under the same id is remembered. */
  conversationId?: string;
  /** How many agents have handed it on so far. */
  depth: number;
  /** On whose behalf; nobody known when not given. */
  principal?: Principal;
  /** It goes on with another agent's answer, so that no further chain follows. */
  chained?: boolean;
}

export interface SkillUsage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** Dollars, where the price of the model is known. */
  costUsd?: number;
}

export type SkillState = 'completed' | 'failed' | 'canceled' | 'rejected' | 'input-required' | 'working';

export interface SkillResult {
  content: string;
  /** Set when it failed: why. */
  error?: string;
  taskState: SkillState;
  taskId?: string;
  contextId?: string;
  usage?: SkillUsage;
  /** It is the answer of the agent to whom the first one's answer was handed on. */
  chained?: boolean;
  /** The executor itself could not work, as opposed to work that went wrong. */
  unavailable?: boolean;
}

/** What an executor reports while it works. */
export type SkillFrame =
  | { type: 'progress'; text: string }
  /** It waits for a person, and waits no more. */
  | { type: 'input-start'; question: string }
  | { type: 'input-end'; answered: boolean }
  | { type: 'tool-start'; toolCallId: string; name: string; input: unknown }
  | { type: 'tool-end'; toolCallId: string; name: string; result: string; failed: boolean };

/** A task that another service works on. */
export interface RemoteTask {
  taskId: string;
  contextId?: string;
}

export interface SkillContext {
  signal: AbortSignal;
  /** The agent's slot: lent while the work waits for another agent, released when another service goes on with it. */
  slot?: Slot;
  tell(frame: SkillFrame): void;
  /** Keeps a task of another service, so that it is not lost when this process ends meanwhile. */
  track?(task: RemoteTask): void;
  /** Where the other service may tell that the task is over. */
  callback?: { url: string; token: string };
}

export interface OfferedSkill {
  name: string;
  description: string;
  keywords: readonly string[];
  /** Known from before the restart: its executor has not answered yet, so work for it waits in the journal. */
  pending?: boolean;
}

/** An agent, wherever it runs, as the dispatcher sees it. */
export interface SkillExecutor {
  readonly agent: string;
  readonly type: 'in-process' | 'a2a' | 'mcp';
  readonly skills: readonly OfferedSkill[];
  /** A result that is `working` and has a task id goes on elsewhere: it is asked after with `resume`. */
  execute(request: SkillRequest, context: SkillContext): Promise<SkillResult>;
  resume?(request: SkillRequest, task: RemoteTask, context: SkillContext): Promise<SkillResult>;
}

/**
 * What cuts a run short: the bus that will not wait any longer, or that begins to stop while the run waits for a place or
 * for a person, which it does again after the start. Given up when the run is over, as the bus outlives many thousands of them.
 */
export class Ending implements Disposable {
  readonly #delivery: Delivery;
  readonly #cut = new AbortController();
  #isWaiting = false;

  constructor(delivery: Delivery) {
    this.#delivery = delivery;
    delivery.signal.addEventListener('abort', this.#look);
    delivery.stopping.addEventListener('abort', this.#look);
    this.#look();
  }

  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  /** Says that the run waits for a place or a person, or no longer does. */
  waits(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    this.#look();
  }

  [Symbol.dispose](): void {
    this.#delivery.signal.removeEventListener('abort', this.#look);
    this.#delivery.stopping.removeEventListener('abort', this.#look);
  }

  readonly #look = (): void => {
    const { signal, stopping } = this.#delivery;
    if (signal.aborted) this.#cut.abort(signal.reason);
    else if (this.#isWaiting && stopping.aborted) this.#cut.abort(new Error('The switchboard stops.'));
  };
}

/** Runs a skill and stays with it when it goes on elsewhere, for those who need the answer to go on themselves. */
export async function runToEnd(
  executor: SkillExecutor,
  request: SkillRequest,
  context: SkillContext,
): Promise<SkillResult> {
  let result = await executor.execute(request, context);
  while (result.taskState === 'working' && result.taskId !== undefined && executor.resume !== undefined) {
    await delay(pauseMs, undefined, { signal: context.signal });
    result = await executor.resume(request, { ...result, taskId: result.taskId }, context);
  }
  return result;
}
