import { BoundedMap, errorMessage } from '@trunkline/std';
import { type Host, startProcess, startWorker } from './parser-hosts.ts';
import { OUT_OF_MEMORY, type ParserReply } from './parser-thread.ts';

export interface ParserPoolOptions {
  /** Module that calls `serveParser`. */
  script: URL;
  /** Most threads at once; further tasks wait. */
  threads?: number;
  /** How long one task may work; its thread is ended then. On a busy machine that may be up to five times as long. */
  timeoutMs?: number;
  /** Heap of one thread; it is ended beyond that. */
  memoryMb?: number;
  /** All memory of one process (Linux only); it is ended beyond that. */
  residentMb?: number;
  /** Tasks that may wait, half of them of one owner; beyond that a task is refused. */
  queue?: number;
  /** A thread without work for this long is ended, as each costs about 25 MB. */
  idleMs?: number;
  /**
   * True where a task may end its process: native code that fails or is cut off, or a heap that V8 cannot grow (a thread
   * whose Map, split or match meets its limit ends the whole service). The tasks run in processes then.
   */
  native?: boolean;
}

/** Something that could not be parsed; the message completes the sentence "it ...". */
export class ParserError extends Error {
  readonly code = 'parsing_failed';
}

export interface TaskOptions {
  signal?: AbortSignal | undefined;
  /** Whose task it is: owners take turns. */
  owner?: string | undefined;
}

interface Job {
  task: unknown;
  owner: string | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  signal: AbortSignal | undefined;
  onAbort(): void;
}

interface Thread {
  host: Host;
  /** True once it has loaded what it parses with: only then the time of a task begins to count. */
  isReady: boolean;
  job: Job | undefined;
  /** Ends it. */
  timer: NodeJS.Timeout | undefined;
  /** Looks how much of its time the task has used up. */
  look: NodeJS.Timeout | undefined;
}

/** How long a thread may take to start, on a busy machine. */
const START_MS = 60_000;
/** How many times as long as it may work a task may take, with all that it waits for. */
const MOST_WAITING = 5;
/** A task is first asked what it has worked after this part of its limit; what it worked before counts for nothing. */
const FIRST_LOOK = 10;
/** That it remembers. */
const MOST_OWNERS = 1000;
const NOT_STARTED = 'cannot be read: its reader did not start within a minute, as this machine is busy';
const STOPPED = 'cannot be read as the service stops';
const TOO_MUCH_MEMORY = 'takes too much memory to read';

/**
 * Threads that parse what comes from outside. A huge or hostile page costs its thread, never the event loop or the heap
 * of the service.
 */
export class ParserPool<Task, Result> {
  readonly #options: Required<ParserPoolOptions>;
  readonly #threads = new Set<Thread>();
  readonly #waiting: Job[] = [];
  /** When a task of each owner was last begun, in tasks. */
  readonly #served = new BoundedMap<string | undefined, number>(MOST_OWNERS);
  #turns = 0;
  /** Threads on their way out. */
  readonly #ending = new Set<Promise<unknown>>();
  #stopped = false;

  constructor({
    script,
    threads = 2,
    timeoutMs = 10_000,
    memoryMb = 256,
    queue = 1000,
    idleMs = 60_000,
    native = false,
    residentMb = Number.POSITIVE_INFINITY,
  }: ParserPoolOptions) {
    this.#options = { script, threads, timeoutMs, memoryMb, queue, idleMs, native, residentMb };
  }

  /** Starts the threads before there is work for them: what they parse with takes a moment to load. */
  warm(): void {
    while (!this.#stopped && this.#threads.size < this.#options.threads) this.#rest(this.#startThread());
  }

  /** Rejects with a ParserError, or with the reason of the signal. */
  run(task: Task, { signal, owner }: TaskOptions = {}): Promise<Result> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#stopped) return Promise.reject(new ParserError(STOPPED));
    if (this.#isFullFor(owner)) return Promise.reject(new ParserError('has to wait for too many others'));
    return new Promise((resolve, reject) => {
      const job: Job = {
        task,
        owner,
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
    for (const thread of this.#threads) void this.#end(thread, new ParserError(STOPPED));
    await Promise.all(this.#ending);
  }

  #isFullFor(owner: string | undefined): boolean {
    const { queue } = this.#options;
    if (this.#waiting.length >= queue) return true;
    if (owner === undefined) return false;
    const share = Math.ceil(queue / 2);
    return (
      this.#waiting.length >= share && this.#waiting.filter((job) => job.owner === owner).length >= share
    );
  }

  /** The longest waiting one of those whose owner was served longest ago. */
  #nextJob(): Job | undefined {
    const [first, ...others] = this.#waiting;
    if (first === undefined) return undefined;
    const servedAt = ({ owner }: Job) => this.#served.get(owner) ?? 0;
    return others.reduce((best, job) => (servedAt(job) < servedAt(best) ? job : best), first);
  }

  #next(): void {
    const job = this.#nextJob();
    if (job === undefined) return;
    let thread: Thread | undefined;
    try {
      thread = this.#freeThread();
    } catch (error) {
      // As where the system has no memory or no process left.
      this.#remove(job);
      fail(job, new ParserError(`cannot be read: ${errorMessage(error)}`, { cause: error }));
      queueMicrotask(() => this.#next());
      return;
    }
    if (thread === undefined) return;
    this.#remove(job);
    this.#turns += 1;
    this.#served.set(job.owner, this.#turns);
    thread.job = job;
    this.#limitTime(thread);
    thread.host.ref();
    thread.host.postMessage(job.task);
  }

  #limitTime(thread: Thread): void {
    const { timeoutMs } = this.#options;
    const limit = timeoutMs < 1000 ? `${timeoutMs} ms` : `${timeoutMs / 1000} seconds`;
    const end = (words: string) => void this.#end(thread, new ParserError(words));
    clearTimers(thread);
    if (!thread.isReady) {
      thread.timer = setTimeout(end, START_MS + timeoutMs, NOT_STARTED);
      return;
    }
    const tooLong = `takes longer than ${limit} to read`;
    thread.timer = setTimeout(end, MOST_WAITING * timeoutMs, tooLong);
    const { job } = thread;
    let mostWorked: number | undefined;
    const look = async () => {
      const worked = await thread.host.workedMs();
      if (thread.job !== job || !this.#threads.has(thread)) return;
      mostWorked ??= worked + timeoutMs;
      if (worked >= mostWorked) end(tooLong);
      else lookIn(Math.ceil(mostWorked - worked));
    };
    const lookIn = (ms: number) => {
      thread.look = setTimeout(() => void look(), ms);
    };
    // Asking takes time of both sides, and most files are read before the first look.
    lookIn(timeoutMs / FIRST_LOOK);
  }

  #freeThread(): Thread | undefined {
    const free = [...this.#threads].find(({ job }) => job === undefined);
    const isFull = this.#threads.size + this.#ending.size >= this.#options.threads;
    return free !== undefined || isFull ? free : this.#startThread();
  }

  #startThread(): Thread {
    const start = this.#options.native ? startProcess : startWorker;
    const host = start(this.#options, {
      onReply: (reply) => this.#settle(thread, reply),
      onError: (error) => {
        const isOutOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        const words = isOutOfMemory ? TOO_MUCH_MEMORY : `cannot be read: ${error.message}`;
        void this.#end(thread, new ParserError(words, { cause: error }));
      },
      onExit: (code, signal, lastWords) => {
        const isCrash = this.#options.native && code !== OUT_OF_MEMORY;
        const words = isCrash
          ? `cannot be read: the process that reads it ended with ${signal ?? `code ${code}`}`
          : TOO_MUCH_MEMORY;
        void this.#end(thread, new ParserError(words, { cause: lastWords }));
      },
    });
    const thread: Thread = { host, isReady: false, job: undefined, timer: undefined, look: undefined };
    this.#threads.add(thread);
    return thread;
  }

  #settle(thread: Thread, reply: ParserReply<unknown>): void {
    // One that was ended meanwhile has nothing to say any more.
    if (!this.#threads.has(thread)) return;
    const { job } = thread;
    if ('ready' in reply) {
      thread.isReady = true;
      if (job !== undefined) this.#limitTime(thread);
      return;
    }
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
    clearTimers(thread);
    thread.timer = setTimeout(() => void this.#end(thread), this.#options.idleMs).unref();
    thread.host.unref();
  }

  #remove(job: Job): void {
    const place = this.#waiting.indexOf(job);
    if (place >= 0) this.#waiting.splice(place, 1);
  }

  #abort(job: Job): void {
    this.#remove(job);
    const thread = [...this.#threads].find((candidate) => candidate.job === job);
    if (thread === undefined) fail(job, job.signal?.reason);
    else void this.#end(thread, job.signal?.reason);
  }

  /** Ends a thread that hangs, broke or rests; its job fails, the next one gets a new thread. */
  async #end(thread: Thread, error?: unknown): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimers(thread);
    if (thread.job !== undefined) fail(thread.job, error);
    // It counts until it has ended: what it holds is not free before.
    const ended = thread.host.terminate().catch(() => undefined);
    this.#ending.add(ended);
    await ended;
    this.#ending.delete(ended);
    this.#next();
  }
}

function clearTimers({ timer, look }: Thread): void {
  clearTimeout(timer);
  clearTimeout(look);
}

function succeed(job: Job, result: unknown): void {
  job.signal?.removeEventListener('abort', job.onAbort);
  job.resolve(result);
}

function fail(job: Job, error: unknown): void {
  job.signal?.removeEventListener('abort', job.onAbort);
  job.reject(error);
}
