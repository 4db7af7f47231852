import type { Principal } from '@trunkline/identity';
import type { Logger, Message, Metadata, Part, Question, Task, TaskEvent, Usage } from '../protocol/model.ts';
import type { LiveTask } from './live-task.ts';

/** One turn of an agent, asked for by a message. */
export interface ExecutionRequest {
  task: { id: string; contextId: string };
  message: Message;
  /** All text of the message. */
  text: string;
  /** Of the message and of the request around it; the request wins. */
  metadata: Metadata;
  /** On whose behalf the message came. */
  principal: Principal;
  /** What was said in this task before the message. */
  history: readonly Message[];
  /** Set when the message answers what the agent asked. */
  resume?: Question;
  /** Which of several agents behind the endpoint is meant; only where the server has tenants. */
  tenant?: string;
  /** Media types that the caller takes; left out, all. */
  acceptedOutputModes?: readonly string[];
  /** The tasks that the message refers to (`referenceTaskIds`) and whose owner, or the operator, has sent it. */
  references?: readonly Task[];
  /** URIs of the extensions that are active for this message. */
  extensions?: readonly string[];
}

/** What an agent reports while it works. A turn ends with the first of the last five, or when the events end. */
export type ExecutionEvent =
  /** With `toolCallId` it is of a tool that runs. */
  | { type: 'progress'; text: string; toolCallId?: string }
  | { type: 'text-delta'; text: string }
  /** What the model thinks; callers show it apart from the answer, if at all. */
  | { type: 'reasoning-delta'; text: string }
  | { type: 'tool-start'; toolCallId: string; name: string; args?: unknown }
  /** `denied`: a policy or a person did not allow the call. */
  | {
      type: 'tool-end';
      toolCallId: string;
      name: string;
      result?: unknown;
      failed?: boolean;
      denied?: boolean;
    }
  | {
      type: 'artifact';
      artifactId?: string;
      name?: string;
      parts: Part[];
      append?: boolean;
      lastChunk?: boolean;
    }
  | { type: 'usage'; usage: Usage }
  /** Parks the task until a message answers. With `authorization` it waits for credentials instead. */
  | { type: 'input-required'; question: string; schema?: unknown; authorization?: boolean }
  /** `text` is the whole answer, when it was not given as deltas; `message` stands in the status. */
  | { type: 'completed'; text?: string; message?: string }
  | { type: 'failed'; message: string }
  | { type: 'rejected'; message: string }
  /** A plain reply for which no task is kept: only as the very first event. */
  | { type: 'message'; parts: Part[] };

/** What does the work. The signal is aborted when the task is cancelled or the server stops. */
/** A turn of an earlier process that can go on. */
export interface RecoveredTurn {
  /** Whoever it was begun for, with the rights of then; left out, the owner of the task. */
  principal?: Principal;
  events: AsyncIterable<ExecutionEvent>;
}

export interface Executor {
  execute(request: ExecutionRequest, signal: AbortSignal): AsyncIterable<ExecutionEvent>;
  /** Goes on with a turn that the last process left unfinished, from its beginning; undefined: the task fails. */
  recover?(task: Task, signal: AbortSignal): RecoveredTurn | undefined;
}

/** Receives everything that happens to tasks. */
export interface TaskObserver {
  /** A turn begins: the task is new, or it was answered. */
  turnStarted?(task: Task, isNew: boolean): void;
  taskEvent?(live: LiveTask, event: TaskEvent): void;
  /** The task waits for its caller or has ended. */
  turnEnded?(task: Task): void;
  /** Where several services share their tasks: of all ends of the task the one that was reached here stands. */
  endStands?(task: Task): void;
  /** Somebody has cancelled a task that had not ended. */
  taskCanceled?(task: Task, by: Principal | undefined): void;
  /** A new task could not be written; no turn of it was started. */
  taskDropped?(id: string): void;
}

export class TaskObservers {
  readonly #observers: TaskObserver[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(observer: TaskObserver): void {
    this.#observers.push(observer);
  }

  /** An observer that fails, for instance on a full disk, stops neither the task nor the other observers. */
  tell(news: (observer: TaskObserver) => void): void {
    for (const observer of this.#observers) {
      try {
        news(observer);
      } catch (error) {
        this.#logger.error({ err: error }, 'task observer failed');
      }
    }
  }
}
