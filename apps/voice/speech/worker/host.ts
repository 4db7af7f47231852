import type { Logger } from '@trunkline/config';
import { SpeechError } from '../speech-error.ts';
import { WorkerThread } from './thread.ts';
import { droppedError, type Task, type WorkPriority, WorkQueue } from './work-queue.ts';

export interface WorkerHostOptions {
  /** Names the worker in errors and in the log. */
  name: string;
  script: URL;
  /** Passed to the worker when it starts. */
  settings?: unknown;
  /** Threads that may work at the same time. The second starts when work waits for a first that is loaded. */
  threads?: number;
  /** Loads the model of each thread after the first, before it takes work that somebody waits for. */
  warmUp?: readonly unknown[];
  /** Each thread after the first needs this much free memory. */
  memoryBytes?: number;
  /** More work than this is refused. */
  maxWaiting?: number;
  /** A worker that does not answer within this time counts as stuck, and another takes its place. */
  timeoutMs?: number;
  /** Threads after the first end when they had nothing to do for this long, which frees their memory. */
  idleMs?: number;
  /** All of its work is for calls; otherwise only work with a caller is. */
  servesOnlyCalls?: boolean;
  /** Called with the time that a piece of work for a call took, in milliseconds, without the loading of models. */
  onWorked?(ms: number): void;
  logger: Logger;
}

export interface WorkOptions extends WorkPriority {
  signal?: AbortSignal | undefined;
}

/** After a thread could not load its model, no other tries it for this long. */
const growAgainMs = 60_000;

/** A pool of worker threads that share one queue; each does one piece of work at a time. */
export class WorkerHost {
  readonly #options: Required<WorkerHostOptions>;
  readonly #queue = new WorkQueue();
  readonly #threads: WorkerThread[] = [];
  /** Threads that load their model. */
  readonly #warming = new Set<WorkerThread>();
  #idle: NodeJS.Timeout | undefined;
  #growAfter = 0;
  #lastId = 0;
  #closed = false;

  constructor(options: WorkerHostOptions) {
    this.#options = {
      settings: {},
      threads: 1,
      warmUp: [],
      memoryBytes: 0,
      maxWaiting: 64,
      // Enough to check and load the largest model on a busy machine.
      timeoutMs: 60_000,
      idleMs: 120_000,
      servesOnlyCalls: false,
      onWorked: () => undefined,
      ...options,
    };
    this.#addThread();
  }

  /** Threads that can take work now, or after what they do. */
  get threads(): number {
    return this.#threads.length - this.#warming.size;
  }

  /** Who waits or is served now, except for guesses. */
  get callers(): number {
    return this.#queue.callers(this.#threads.map(({ task }) => task));
  }

  async ask<Value>(work: unknown, { signal, ...priority }: WorkOptions = {}): Promise<Value> {
    signal?.throwIfAborted();
    const task = this.#enqueue(work, priority);
    const cancel = () => this.#cancel(task, signal?.reason);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return (await task.result.promise) as Value;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Ends workers that have nothing to do, which frees their models; the next work starts another. */
  async release(): Promise<void> {
    if (this.#threads.some(({ task }) => task !== undefined)) return;
    const reason = new SpeechError('closed', `${this.#options.name} was released`);
    const threads = [...this.#threads];
    this.#threads.splice(1);
    await Promise.all(threads.map((thread) => thread.end(reason)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    const closed = new SpeechError('closed', `${this.#options.name} is closed`);
    this.#queue.rejectAll(closed);
    await Promise.all(this.#threads.map((thread) => thread.finish(closed)));
    await Promise.all(this.#threads.map((thread) => thread.end(closed)));
  }

  #enqueue(work: unknown, priority: WorkPriority): Task {
    const { name, maxWaiting } = this.#options;
    if (this.#closed) throw new SpeechError('closed', `${name} is closed`);
    if (priority.droppable) this.#queue.dropGuess(this.threads, priority.caller);
    else if (this.#queue.length >= maxWaiting) this.#queue.dropGuess(1);
    if (this.#queue.length >= maxWaiting) throw new SpeechError('busy', `${name} has too much to do`);
    const task = this.#createTask(work, priority);
    this.#queue.add(task);
    this.#next();
    if (!priority.droppable && this.#queue.hasMoreThanGuesses) this.#stopGuess();
    return task;
  }

  #createTask(work: unknown, priority: WorkPriority = {}): Task {
    this.#lastId += 1;
    return { ...priority, id: this.#lastId, work, result: Promise.withResolvers() };
  }

  /** Frees a thread that works on a guess. */
  #stopGuess(): void {
    const guessing = this.#threads.find(({ task }) => task?.droppable);
    // Once: a thread stops at its next step.
    if (guessing?.task !== undefined) guessing.task.droppable = false;
    guessing?.cancel(droppedError());
  }

  #cancel(task: Task, reason: unknown): void {
    task.result.reject(reason);
    if (!this.#queue.remove(task)) this.#threads.find((thread) => thread.task === task)?.cancel(reason);
  }

  #next(): void {
    for (const thread of this.#threads) {
      if (thread.task !== undefined || this.#warming.has(thread)) continue;
      const task = this.#queue.next();
      if (task === undefined) thread.rest();
      else thread.run(task);
    }
    if (this.#queue.hasMoreThanGuesses && this.#mayGrow()) void this.#grow();
  }

  /** A caller alone does with one thread. While one loads, no other starts. */
  #mayGrow(): boolean {
    const { threads, memoryBytes } = this.#options;
    if (this.#closed || this.#threads.length >= threads || this.#warming.size > 0) return false;
    if (performance.now() < this.#growAfter) return false;
    if (this.callers <= this.#threads.length) return false;
    return this.#threads.every(({ isWarm }) => isWarm) && process.availableMemory() >= memoryBytes;
  }

  async #grow(): Promise<void> {
    const thread = this.#addThread();
    this.#warming.add(thread);
    try {
      for (const work of this.#options.warmUp) {
        const task = this.#createTask(work);
        thread.run(task);
        await task.result.promise;
      }
    } catch (error) {
      // One that is being closed may finish its work.
      if (this.#closed) return;
      const { logger, name } = this.#options;
      logger.warn({ err: error, worker: name }, 'failed to start another thread');
      this.#growAfter = performance.now() + growAgainMs;
      this.#remove(thread);
    }
    this.#warming.delete(thread);
    this.#next();
  }

  #addThread(): WorkerThread {
    const { name, script, settings, timeoutMs, logger, servesOnlyCalls, onWorked } = this.#options;
    const onFree = ({ caller }: Task, workMs?: number) => {
      if (workMs !== undefined && (servesOnlyCalls || caller !== undefined)) onWorked(workMs);
      this.#shrinkLater();
      this.#next();
    };
    const thread = new WorkerThread({ name, script, settings, timeoutMs, logger, onFree });
    this.#threads.push(thread);
    return thread;
  }

  #remove(thread: WorkerThread): void {
    const place = this.#threads.indexOf(thread);
    if (place > 0) this.#threads.splice(place, 1);
    void thread.end(new SpeechError('closed', `${this.#options.name} needs fewer threads`));
  }

  /** Each thread by itself: what others do keeps none. */
  #shrinkLater(): void {
    if (this.#closed || this.#threads.length < 2 || this.#idle !== undefined) return;
    const { idleMs } = this.#options;
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      const isIdle = (thread: WorkerThread) =>
        thread.task === undefined &&
        !this.#warming.has(thread) &&
        performance.now() - thread.usedAt >= idleMs;
      for (const thread of this.#threads.slice(1)) if (isIdle(thread)) this.#remove(thread);
      this.#shrinkLater();
    }, idleMs);
    this.#idle.unref();
  }
}

/** All that a host of a model is made from, besides its name and script. */
type HostSettings = Omit<WorkerHostOptions, 'name' | 'script' | 'logger' | 'onWorked'>;

export type CreateHost = (name: string, script: URL, options?: HostSettings) => WorkerHost;

/** Creates the workers of all models; none starts before it is needed. */
export function createHosts(
  logger: Logger,
  shared: Pick<WorkerHostOptions, 'onWorked' | 'timeoutMs'> = {},
): CreateHost {
  return (name, script, options) => new WorkerHost({ ...options, ...shared, name, script, logger });
}
