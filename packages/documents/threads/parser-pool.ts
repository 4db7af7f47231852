import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';
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
  /** Tasks that may wait; beyond that a task is refused. */
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

interface Job {
  task: unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  signal: AbortSignal | undefined;
  onAbort(): void;
}

/** What a thread and a process have in common. */
interface Host {
  postMessage(task: unknown): void;
  /** Processor time so far, or where the system does not tell, time. */
  workedMs(): Promise<number>;
  terminate(): Promise<unknown>;
  ref(): void;
  unref(): void;
}

interface HostEvents {
  onReply(reply: ParserReply<unknown>): void;
  onError(error: NodeJS.ErrnoException): void;
  onExit(code: number | null, signal: string | null, lastWords: string): void;
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
    for (const thread of this.#threads) void this.#end(thread, new ParserError(STOPPED));
    await Promise.all(this.#ending);
  }

  #next(): void {
    const [job] = this.#waiting;
    let thread: Thread | undefined;
    try {
      thread = job && this.#freeThread();
    } catch (error) {
      // As where the system has no memory or no process left.
      this.#waiting.shift();
      if (job !== undefined)
        fail(job, new ParserError(`cannot be read: ${errorMessage(error)}`, { cause: error }));
      queueMicrotask(() => this.#next());
      return;
    }
    if (job === undefined || thread === undefined) return;
    this.#waiting.shift();
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

type HostOptions = Required<ParserPoolOptions>;

function startWorker({ script, memoryMb }: HostOptions, { onReply, onError, onExit }: HostEvents): Host {
  const worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: memoryMb } })
    .on('message', onReply)
    .on('error', onError)
    .on('exit', (code) => onExit(code, null, ''));
  return Object.assign(worker, {
    // It rejects once the thread has ended.
    workedMs: () =>
      worker.cpuUsage().then(
        ({ user, system }) => (user + system) / 1000,
        () => 0,
      ),
  });
}

/** Of what a process says on its standard error, for the log. */
const LAST_WORDS = 2000;
/** How V8 begins its last words. */
const HEAP_IS_FULL = /heap out of memory|allocation failed/i;
const WATCH_MS = 50;

/** It sees no variable of the service, as it needs none of its secrets, and ends with the service. */
function startProcess(
  { script, memoryMb, residentMb }: HostOptions,
  { onReply, onError, onExit }: HostEvents,
): Host {
  const child = fork(fileURLToPath(script), {
    serialization: 'advanced',
    execArgv: [`--max-old-space-size=${memoryMb}`],
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lastWords = '';
  let isTooLarge = false;
  let watch: NodeJS.Timeout | undefined;
  child.stderr?.setEncoding('utf8').on('data', (words: string) => {
    isTooLarge ||= HEAP_IS_FULL.test(words);
    lastWords = `${lastWords}${words}`.slice(-LAST_WORDS);
  });
  child.on('message', (reply: ParserReply<unknown>) => {
    if (!('ready' in reply)) clearInterval(watch);
    onReply(reply);
  });
  child.on('error', onError);
  // What it says last may come behind its exit.
  child.on('close', (code, signal) => {
    clearInterval(watch);
    onExit(isTooLarge ? OUT_OF_MEMORY : code, signal, lastWords);
  });
  return {
    // A process that died meanwhile is told of by its exit.
    postMessage: (task) => {
      child.send?.(task as object, () => undefined);
      // From outside: a task that unpacks without a pause lets no timer of its own process run.
      if (Number.isFinite(residentMb))
        watch = setInterval(() => {
          if (residentBytes(child.pid) <= residentMb * MEGABYTE) return;
          isTooLarge = true;
          child.kill('SIGKILL');
        }, WATCH_MS).unref();
    },
    // Where the system counts it, one that ended meanwhile has worked no longer: its exit says why.
    workedMs: async () => (process.platform === 'linux' ? processorMs(child.pid) : performance.now()),
    terminate: async () => {
      clearInterval(watch);
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      const ended = once(child, 'exit');
      // At rest it keeps no program alive: one that waits for its end would exit first.
      child.ref();
      child.kill('SIGKILL');
      await ended;
    },
    ref: () => {
      child.ref();
      child.channel?.ref();
    },
    unref: () => {
      child.unref();
      child.channel?.unref();
      (child.stderr as Socket | null)?.unref();
    },
  };
}

const MEGABYTE = 1024 * 1024;

/** Memory of a process that is not swapped out; 0 where the system does not tell. */
function residentBytes(pid: number | undefined): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    // It ended meanwhile, or this is no Linux.
    return 0;
  }
}

/** What the kernel counts processor time in. */
const TICK_MS = 10;

/** Processor time of a process; 0 when it ended. */
function processorMs(pid: number | undefined): number {
  try {
    // Behind the name, which may hold anything: user time and system time are the twelfth and thirteenth field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}

function succeed(job: Job, result: unknown): void {
  job.signal?.removeEventListener('abort', job.onAbort);
  job.resolve(result);
}

function fail(job: Job, error: unknown): void {
  job.signal?.removeEventListener('abort', job.onAbort);
  job.reject(error);
}
