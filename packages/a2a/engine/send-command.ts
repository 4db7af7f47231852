import { ownerKey, type Principal } from '@trunkline/identity';
import { A2aError, invalidParams, taskNotFound } from '../errors/a2a-error.ts';
import {
  isParked,
  type Message,
  type Metadata,
  type Question,
  type Task,
  textOf,
} from '../protocol/model.ts';
import type { ExecutionRequest } from './executor.ts';
import type { LiveTask } from './live-task.ts';
import type { TaskStore } from './task-store.ts';

/** A message for the agent, whatever wire it came by. */
export interface SendCommand {
  message: Message;
  metadata: Metadata;
  principal: Principal;
  /** As 1.0 has it, a task id that cannot be continued is refused; else it starts a fresh task. */
  strict: boolean;
  tenant?: string | undefined;
  acceptedOutputModes?: readonly string[];
  extensions?: readonly string[];
  /** The tasks that the message refers to, as far as the sender may see them. */
  references?: readonly Task[];
  /**
   * Told by callers that may send a message again: under the same id it starts nothing new in its conversation, and
   * answers no second question. An answer has it as its `messageId` too, so that the task's history tells.
   */
  requestId?: string | undefined;
  /** Called with the task before the turn begins; when it throws, nothing has happened. */
  prepare?: (task: Task) => void;
  /** Whether the message may answer this task; else it is as if there were no such task. Left out, it may. */
  mayAnswer?: (task: Task) => boolean;
}

/** A turn that begins as soon as the message is on disk. */
export interface StartedTurn {
  live: LiveTask;
  /** False when the message could not be written: a new task is dropped then, one that waits goes on waiting. */
  stored: Promise<boolean>;
}

/** Whether a message may come in; `release` is called when its turn is over. */
type AdmissionDecision = { release: () => void } | { refusal: string };

export type Admit = (request: ExecutionRequest) => AdmissionDecision;

/** For callers that are refused because the executor has too much to do. */
const retryAfterSeconds = 5;

/** Throws when the message may not come in; then nothing has happened. Gives what to call when its turn is over. */
export function accept(task: Task, command: SendCommand, admit: Admit | undefined): () => void {
  const decision = admit?.(requestOf(task, command, task.question));
  if (decision !== undefined && 'refusal' in decision)
    throw new A2aError('OVERLOADED', decision.refusal, { retryAfterSeconds });
  const release = decision?.release ?? (() => undefined);
  try {
    command.prepare?.(task);
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

export function newTask(
  id: string,
  { message, metadata, principal, tenant }: SendCommand,
  now: number,
): Task {
  const contextId = message.contextId ?? crypto.randomUUID();
  // What follows a spread in an object costs V8 a call for each field, so spreads stand last.
  return {
    id,
    contextId,
    owner: ownerKey(principal),
    state: 'working',
    createdAt: now,
    updatedAt: now,
    history: [withinTask(message, { id, contextId })],
    artifacts: [],
    ...(tenant !== undefined && { tenant }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/**
 * Tells a repeated request of a schedule, which sends every attempt at one time under the same message id, and of callers
 * who say that their message id is such a key (`idempotencyKey` of the metadata). Others may use a message id twice, as
 * many do. The principal is part of it: nobody is given the task of somebody else.
 */
export function requestKeyOf(command: SendCommand): string | undefined {
  const { message, metadata, principal, requestId, tenant } = command;
  const answered = message.taskId === undefined ? [] : [message.taskId];
  if (requestId !== undefined)
    return JSON.stringify([principal.kind, principal.id, message.contextId ?? '', ...answered, requestId]);
  if (isKeyed(command)) {
    const place = [...answered, ...(tenant === undefined ? [] : ['tenant', tenant])];
    return JSON.stringify([principal.kind, principal.id, 'key', message.messageId, ...place]);
  }
  if (message.taskId !== undefined) return undefined;
  const jobId = metadata.scheduler_job_id ?? message.metadata?.scheduler_job_id;
  if (typeof jobId !== 'string' || jobId === '') return undefined;
  return JSON.stringify([principal.kind, principal.id, jobId, message.messageId]);
}

/** The caller says that its message id is the key of the request, and counts on it that nothing is done twice. */
function isKeyed({ message, metadata, requestId }: SendCommand): boolean {
  const key = metadata.idempotencyKey ?? message.metadata?.idempotencyKey;
  return requestId === undefined && key === message.messageId;
}

export function withinTask(message: Message, task: { id: string; contextId: string }): Message {
  return { ...message, taskId: task.id, contextId: task.contextId };
}

export function requestOf(
  task: Task,
  { message, metadata, principal, acceptedOutputModes, extensions, references }: SendCommand,
  question: Question | undefined,
): ExecutionRequest {
  return {
    task: { id: task.id, contextId: task.contextId },
    message,
    text: textOf(message.parts),
    metadata: { ...message.metadata, ...metadata },
    principal,
    history: task.history.slice(0, -1),
    ...(question && { resume: question }),
    ...(task.tenant !== undefined && { tenant: task.tenant }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(extensions && { extensions }),
    ...(references && { references }),
  };
}

/** The waiting task that the message answers, if it names one. */
export function answeredTask(
  { message, strict, mayAnswer = () => true }: SendCommand,
  find: (id: string) => LiveTask | undefined,
): LiveTask | undefined {
  if (message.taskId === undefined) return undefined;
  const known = find(message.taskId);
  const live = known && mayAnswer(known.snapshot()) ? known : undefined;
  if (live === undefined || !isParked(live.state)) {
    if (strict) throw cannotContinue(message.taskId, live);
    return undefined;
  }
  requireSameContext(live.snapshot(), message);
  return live;
}

function cannotContinue(id: string, live: LiveTask | undefined): A2aError {
  if (live === undefined) return taskNotFound(id);
  const words = `This operation is not supported: task ${id} is ${live.state} and waits for no message`;
  return new A2aError('UNSUPPORTED_OPERATION', words);
}

/** An answer that names another conversation than that of its task is refused. */
function requireSameContext(task: Task, message: Message): void {
  if (message.contextId === undefined || message.contextId === task.contextId) return;
  throw invalidParams(
    `contextId does not belong to task ${task.id}: leave it away, or send the task's own`,
    'message.contextId',
  );
}

/** Finds the task of a request that comes again, so that a schedule's second attempt starts nothing new. */
export class RepeatedRequests {
  readonly #store: TaskStore;
  readonly #load: (id: string) => LiveTask | undefined;
  /** Turns whose message is not on disk yet. */
  readonly #starting = new Map<string, StartedTurn>();

  constructor(store: TaskStore, load: (id: string) => LiveTask | undefined) {
    this.#store = store;
    this.#load = load;
  }

  /**
   * A task that failed, by a restart for instance, may be tried again, and so is not found. Whoever sends a key is told
   * instead: what the task did before it failed must not be done a second time unasked.
   */
  find(command: SendCommand): StartedTurn | undefined {
    const requestKey = requestKeyOf(command);
    if (requestKey === undefined) return undefined;
    const starting = this.#starting.get(requestKey);
    if (starting !== undefined) return starting;
    if (command.message.taskId !== undefined) return this.#findAnswer(command, command.message.taskId);
    const id = this.#store.findByRequest(requestKey);
    const live = id === undefined ? undefined : this.#load(id);
    if (live === undefined || (live.state === 'failed' && !isKeyed(command))) return undefined;
    return { live, stored: Promise.resolve(true) };
  }

  /** A task that was given this very message already may wait with another question by now. */
  #findAnswer(
    { message, requestId = message.messageId, mayAnswer = () => true }: SendCommand,
    taskId: string,
  ): StartedTurn | undefined {
    const live = this.#load(taskId);
    const task = live?.snapshot();
    if (live === undefined || task === undefined || !mayAnswer(task)) return undefined;
    const isSaid = task.history.some(({ role, messageId }) => role === 'user' && messageId === requestId);
    if (!isSaid) return undefined;
    requireSameContext(task, message);
    return { live, stored: Promise.resolve(true) };
  }

  add(requestKey: string | undefined, started: StartedTurn): void {
    if (requestKey === undefined) return;
    this.#starting.set(requestKey, started);
    void started.stored.then(() => this.#starting.delete(requestKey));
  }
}
