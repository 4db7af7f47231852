import { Worker } from 'node:worker_threads';
import type { PageParsers, PageTask } from './page-worker.ts';
import { CANCEL, type ParserReply } from './parser-thread.ts';

export interface ParserPoolOptions {
  /** Module that calls `serveParser`. */
  script: URL;
  /** Most threads at once; further tasks wait. */
  threads?: number;
  /** How long one task may take; its thread is ended then. */
  timeoutMs?: number;
  /** Heap of one thread; it is ended beyond that. */
  memoryMb?: number;
  /** Tasks that may wait; beyond that a task is refused. */
  queue?: number;
  /** A thread without work for this long is ended, as each costs about 25 MB. */
  idleMs?: number;
  /**
   * True where a thread runs native code. Cut off in the middle, that ends the whole process, so a busy thread is asked
   * to stop and ends with its reply.
   */
  native?: boolean;
}

/** Something that could not be parsed; the message completes the sentence "it ...". */
export class ParserError extends Error {
  readonly code = 'parsing_failed';
}

interface Job {
  task: unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  signal: AbortSignal | undefined;
  onAbort(): void;
}

interface Thread {
  worker: Worker;
  job: Job | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** A native thread may take this long to finish: on a busy machine a model takes that to load. */
const FINISH_MS = 30_000;
const STOPPED = 'cannot be read as the service stops';
const TOO_MUCH_MEMORY = 'takes too much memory to read';

/**
 * Threads that parse what comes from outside. A huge or hostile page costs its thread, never the event loop or the heap
 * of the service.
 */
export class ParserPool<Task, Result> {
  readonly #options: Required<ParserPoolOptions>;
  readonly #threads = new Set<Thread>();
  /** Native threads that end with their reply; they count until then. */
  #finishing = 0;
  readonly #waiting: Job[] = [];
  #stopped = false;

  constructor({
    script,
    threads = 2,
    timeoutMs = 10_000,
    memoryMb = 256,
    queue = 1000,
    idleMs = 60_000,
    native = false,
  }: ParserPoolOptions) {
    this.#options = { script, threads, timeoutMs, memoryMb, queue, idleMs, native };
  }

  /** Starts the threads before there is work for them: what they parse with takes a moment to load. */
  warm(): void {
    while (!this.#stopped && this.#threads.size < this.#options.threads) this.#rest(this.#startThread());
  }

  /** Rejects with a ParserError, or with the reason of the signal. */
  run(task: Task, signal?: AbortSignal): Promise<Result> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#stopped) return Promise.reject(new ParserError(STOPPED));
    if (this.#waiting.length >= this.#options.queue)
      return Promise.reject(new ParserError('has to wait for too many others'));
    return new Promise((resolve, reject) => {
      const job: Job = {
        task,
        resolve: resolve as Job['resolve'],
        reject,
        signal,
        onAbort: () => this.#abort(job),
      };
      signal?.addEventListener('abort', job.onAbort, { once: true });
      this.#waiting.push(job);
      this.#next();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const job of this.#waiting.splice(0)) fail(job, new ParserError(STOPPED));
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, new ParserError(STOPPED))));
  }

  #next(): void {
    const [job] = this.#waiting;
    const thread = job && this.#freeThread();
    if (job === undefined || thread === undefined) return;
    this.#waiting.shift();
    const { timeoutMs } = this.#options;
    const limit = timeoutMs < 1000 ? `${timeoutMs} ms` : `${timeoutMs / 1000} seconds`;
    thread.job = job;
    clearTimeout(thread.timer);
    thread.timer = setTimeout(
      () => void this.#end(thread, new ParserError(`takes longer than ${limit} to read`)),
      timeoutMs,
    );
    thread.worker.ref();
    thread.worker.postMessage(job.task);
  }

  #freeThread(): Thread | undefined {
    const free = [...this.#threads].find(({ job }) => job === undefined);
    const isFull = this.#threads.size + this.#finishing >= this.#options.threads;
    return free !== undefined || isFull ? free : this.#startThread();
  }

  #startThread(): Thread {
    const { script, memoryMb } = this.#options;
    const worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: memoryMb } });
    const thread: Thread = { worker, job: undefined, timer: undefined };
    worker.on('message', (reply: ParserReply<unknown>) => this.#settle(thread, reply));
    worker.on('error', (error: NodeJS.ErrnoException) => {
      const isOutOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const words = isOutOfMemory ? TOO_MUCH_MEMORY : `cannot be read: ${error.message}`;
      void this.#end(thread, new ParserError(words, { cause: error }));
    });
    // A thread ends itself where its buffers, which count towards no heap, grow too large.
    worker.on('exit', () => void this.#end(thread, new ParserError(TOO_MUCH_MEMORY)));
    this.#threads.add(thread);
    return thread;
  }

  #settle(thread: Thread, reply: ParserReply<unknown>): void {
    const { job } = thread;
    thread.job = undefined;
    this.#rest(thread);
    if (job !== undefined) {
      if ('problem' in reply) fail(job, new ParserError(reply.problem));
      else succeed(job, reply.result);
    }
    this.#next();
  }

  /** Keeps a thread without work for a while. */
  #rest(thread: Thread): void {
    clearTimeout(thread.timer);
    thread.timer = setTimeout(() => void this.#end(thread), this.#options.idleMs).unref();
    thread.worker.unref();
  }

  #abort(job: Job): void {
    const place = this.#waiting.indexOf(job);
    if (place >= 0) this.#waiting.splice(place, 1);
    const thread = [...this.#threads].find((candidate) => candidate.job === job);
    if (thread === undefined) fail(job, job.signal?.reason);
    else void this.#end(thread, job.signal?.reason);
  }

  /** Ends a thread that hangs, broke or rests; its job fails, the next one gets a new thread. */
  async #end(thread: Thread, error?: unknown): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.timer);
    const isBusy = thread.job !== undefined;
    if (thread.job !== undefined) fail(thread.job, error);
    if (isBusy && this.#options.native && thread.worker.threadId !== GONE) {
      this.#finishing += 1;
      await finish(thread.worker);
      this.#finishing -= 1;
    } else await thread.worker.terminate();
    this.#next();
  }
}

/** The id of a thread that has ended. */
const GONE = -1;

/** Ends a thread with its reply. One that never replies ends with the process, and does not keep it alive. */
async function finish(worker: Worker): Promise<void> {
  const finished = Promise.withResolvers<void>();
  worker.removeAllListeners('message');
  worker.once('message', () => void worker.terminate());
  worker.once('exit', () => finished.resolve());
  worker.postMessage(CANCEL);
  const limit = setTimeout(() => {
    worker.unref();
    finished.resolve();
  }, FINISH_MS).unref();
  await finished.promise;
  clearTimeout(limit);
}

function succeed(job: Job, result: unknown): void {
  job.signal?.removeEventListener('abort', job.onAbort);
  job.resolve(result);
}

function fail(job: Job, error: unknown): void {
  job.signal?.removeEventListener('abort', job.onAbort);
  job.reject(error);
}

/** Shared by all services of the process, so that no number of hostile pages takes more than its threads. */
const pool = new ParserPool<PageTask, unknown>({ script: new URL('./page-worker.ts', import.meta.url) });

/** Parses a fetched page outside the service's own thread; rejects with a ParserError where that fails. */
export async function parsePage<Kind extends keyof PageParsers>(
  kind: Kind,
  input: Parameters<PageParsers[Kind]>[0],
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<PageParsers[Kind]>>> {
  const result = await pool.run({ kind, input } as PageTask, signal);
  return result as Awaited<ReturnType<PageParsers[Kind]>>;
}
