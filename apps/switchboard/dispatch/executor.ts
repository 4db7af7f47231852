import { setTimeout as delay } from 'node:timers/promises';
import { BusError, type Delivery } from '@trunkline/bus';
import { type Origin, ownerKey, type Principal } from '@trunkline/identity';
import type { StoredFile } from '@trunkline/loop';
import type { Slot } from '@trunkline/std';

/** Poll interval for remote tasks. */
const pauseMs = 5000;

export interface SkillRequest {
  /** Stable on redelivery. */
  requestId: string;
  skill: string;
  /** Any agent with the skill when not given. */
  agent?: string;
  content: string;
  /** Files that came with it; the executor reads them on behalf of the principal. */
  files?: readonly StoredFile[];
  correlationId: string;
  /** Earlier turns of the same conversation are recalled. */
  conversationId?: string;
  /** Delegation depth so far. */
  depth: number;
  /** Anonymous when not given. */
  principal?: Principal;
  /** Continues another agent's answer: no further chain follows. */
  chained?: boolean;
  /** A person, or a rule that the operator wrote, has allowed exactly this request. */
  approved?: boolean;
  /** Id of the turn, where it is not that of the request: an agent may ask others several times. */
  turn?: string;
  /** Steps of an earlier run may be stored. */
  resumes?: boolean;
  /** Goes on where an earlier request of the same owner stood; where that one did so too, the first stands first. */
  retries?: readonly Retry[];
}

/** From which call on an earlier request is done again. */
export interface Retry {
  requestId: string;
  toolCallId: string;
}

export interface SkillUsage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** In dollars, where the model's price is known. */
  costUsd?: number;
  /** Set when some of it was not counted by an endpoint but estimated. */
  estimated?: true;
}

export type SkillState = 'completed' | 'failed' | 'canceled' | 'rejected' | 'input-required' | 'working';

export interface SkillResult {
  content: string;
  /** Why it failed. */
  error?: string;
  taskState: SkillState;
  taskId?: string;
  contextId?: string;
  usage?: SkillUsage;
  /** What the work has read from outside the operator's trust. */
  origins?: readonly Origin[];
  /** Files that the work made, for whoever asked. */
  files?: readonly StoredFile[];
  /** The chained agent's answer. */
  chained?: boolean;
  /** The executor itself failed, as opposed to the work. */
  unavailable?: boolean;
}

/** Why the last thing that a flow asked approval for was not done. */
export type FlowApproval = 'denied' | 'unanswered';

/** `origins`: what the work has read from outside the operator's trust so far. */
export type SkillFrame = { origins?: readonly Origin[] } & FrameContent;

type FrameContent =
  | { type: 'progress'; text: string }
  /** What the model thinks, apart from its answer. */
  | { type: 'reasoning'; text: string }
  /** Words for whoever waits: that the model is being loaded, say. */
  | { type: 'note'; text: string }
  /** The skill starts and stops waiting for a person. */
  | { type: 'input-start'; question: string }
  /** `approval`: of a question for approval, how it was decided. */
  | { type: 'input-end'; answered: boolean; approval?: FlowApproval | 'given' }
  | { type: 'tool-start'; toolCallId: string; name: string; input: unknown }
  | { type: 'tool-end'; toolCallId: string; name: string; result: string; failed: boolean };

export interface RemoteTask {
  taskId: string;
  contextId?: string;
}

export interface SkillContext {
  signal: AbortSignal;
  /** Lent while the work waits for another agent, released when a remote service continues. */
  slot?: Slot;
  tell(frame: SkillFrame): void;
  /** The work is alive, and may say nothing for so long beside its time limit. */
  extend?(silentMs: number): void;
  /** Whether another switchboard is at work on the same request, or has done it. */
  isElsewhere?(): Promise<boolean>;
  /** Takes the files that delegates of the turn make. */
  made?: StoredFile[] | undefined;
  /** Stores a remote task, so that a restart does not lose it. */
  track?(task: RemoteTask): void;
  /** Where the remote service may report the end of the task. */
  callback?: { url: string; token: string };
}

export interface OfferedSkill {
  name: string;
  description: string;
  keywords: readonly string[];
  /** The description is not the operator's: a card, or an MCP server that they do not trust. */
  foreign?: boolean;
  /** Known from before the restart; its executor has not answered yet, so work waits in the journal. */
  pending?: boolean;
}

export interface SkillExecutor {
  readonly agent: string;
  readonly type: 'in-process' | 'a2a' | 'mcp';
  /** One of our own services: it gets the principal with its origins, and asks before effects itself. */
  readonly isPeer?: boolean;
  /** Guests may talk to it. */
  readonly isPublic?: boolean;
  readonly skills: readonly OfferedSkill[];
  /** A `working` result with a task id continues elsewhere; poll it with `resume`. */
  execute(request: SkillRequest, context: SkillContext): Promise<SkillResult>;
  resume?(request: SkillRequest, task: RemoteTask, context: SkillContext): Promise<SkillResult>;
  /** Tells the agent to stop what continues elsewhere. */
  cancel?(request: SkillRequest, task: RemoteTask): Promise<void>;
}

/** The reason of a run's signal when somebody cancels the request, as opposed to a time limit or a shutdown. */
export class SkillCanceledError extends Error {
  constructor(by: Principal) {
    super(`Canceled by ${ownerKey(by)}.`);
    this.name = 'SkillCanceledError';
  }
}

/** The bus cannot store, or has stopped: no fault of the agent, and the request is delivered again. */
export function isOutage(error: unknown): boolean {
  return error instanceof BusError && (error.code === 'unavailable' || error.code === 'stopped');
}

export function canceledResult({ message }: SkillCanceledError): SkillResult {
  return { content: '', error: message, taskState: 'canceled' };
}

export function cancellationOf({ reason }: AbortSignal): SkillCanceledError | undefined {
  return reason instanceof SkillCanceledError ? reason : undefined;
}

/** Calls what follows a signal when it fires. */
class Followers {
  readonly #signal: AbortSignal;
  readonly #all = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(follower: () => void): void {
    if (this.#all.size === 0) this.#signal.addEventListener('abort', this.#callAll);
    this.#all.add(follower);
  }

  delete(follower: () => void): void {
    this.#all.delete(follower);
    if (this.#all.size === 0) this.#signal.removeEventListener('abort', this.#callAll);
  }

  readonly #callAll = (): void => {
    for (const follower of this.#all) follower();
  };
}

/** Runs at work share one listener on the signals of the bus: one for each costs more than a short run. */
const followed = new WeakMap<AbortSignal, Followers>();

function followersOf(signal: AbortSignal): Followers {
  const known = followed.get(signal);
  if (known !== undefined) return known;
  const followers = new Followers(signal);
  followed.set(signal, followers);
  return followers;
}

/**
 * Aborts a run when somebody cancels it or the bus stops waiting for it, or as soon as the bus starts to stop while the
 * run waits for a slot or a person: it is redelivered after the start. Dispose it with the run, as the bus outlives
 * thousands of them.
 */
export class Ending implements Disposable {
  readonly #delivery: Delivery;
  readonly #cut = new AbortController();
  #isWaiting = false;

  constructor(delivery: Delivery) {
    this.#delivery = delivery;
    followersOf(delivery.signal).add(this.#look);
    followersOf(delivery.stopping).add(this.#look);
    this.#look();
  }

  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  /** Call when the run starts or stops waiting for a slot or a person. */
  waits(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    this.#look();
  }

  cancel(by: Principal): void {
    this.#cut.abort(new SkillCanceledError(by));
  }

  [Symbol.dispose](): void {
    followersOf(this.#delivery.signal).delete(this.#look);
    followersOf(this.#delivery.stopping).delete(this.#look);
  }

  readonly #look = (): void => {
    const { signal, stopping } = this.#delivery;
    if (signal.aborted) this.#cut.abort(signal.reason);
    else if (this.#isWaiting && stopping.aborted) this.#cut.abort(new Error('The switchboard stops.'));
  };
}

/** Runs a skill to its end, polling it when it continues elsewhere. */
export async function runToEnd(
  executor: SkillExecutor,
  request: SkillRequest,
  context: SkillContext,
): Promise<SkillResult> {
  let result = await executor.execute(request, context);
  while (result.taskState === 'working' && result.taskId !== undefined && executor.resume !== undefined) {
    const task = { ...result, taskId: result.taskId };
    try {
      await delay(pauseMs, undefined, { signal: context.signal });
      result = await executor.resume(request, task, context);
    } catch (error) {
      if (cancellationOf(context.signal) !== undefined) await executor.cancel?.(request, task);
      throw error;
    }
  }
  return result;
}
