import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Logger } from '@trunkline/config';
import { SpeechError } from '../speech-error.ts';

export interface WorkerHostOptions {
  /** Names the worker in errors and in the log. */
  name: string;
  script: URL;
  /** Passed to the worker when it starts. */
  settings?: unknown;
  /** More work than this is refused. */
  maxWaiting?: number;
  /** A worker that does not answer within this time counts as stuck, and another takes its place. */
  timeoutMs?: number;
  logger: Logger;
}

export interface WorkOptions {
  signal?: AbortSignal | undefined;
  /** Goes before work that is not urgent. */
  urgent?: boolean;
}

interface Task {
  id: number;
  work: unknown;
  urgent: boolean;
  result: PromiseWithResolvers<unknown>;
}

/** A closed worker gets this long to finish its work; on a busy machine a model takes that to load. */
const closingMs = 30_000;

/** A worker thread that does one piece of work after the other; started when first needed, and again after it died. */
export class WorkerHost {
  readonly #options: Required<WorkerHostOptions>;
  readonly #waiting: Task[] = [];
  #running: Task | undefined;
  #worker: Worker | undefined;
  #timeout: NodeJS.Timeout | undefined;
  #lastId = 0;
  /** Called when the running work is over. */
  #finished: (() => void) | undefined;
  #closed = false;

  constructor(options: WorkerHostOptions) {
    // 60 s are enough to check and load the largest model on a busy machine.
    this.#options = { settings: {}, maxWaiting: 64, timeoutMs: 60_000, ...options };
  }

  async ask<Value>(work: unknown, { signal, urgent = false }: WorkOptions = {}): Promise<Value> {
    signal?.throwIfAborted();
    const task = this.#enqueue(work, urgent);
    const cancel = () => this.#cancel(task, signal?.reason);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return (await task.result.promise) as Value;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Ends a worker that has nothing to do, which frees its model; the next work starts another. */
  async release(): Promise<void> {
    if (this.#running === undefined)
      await this.#end(new SpeechError('closed', `${this.#options.name} was released`));
  }

  async close(): Promise<void> {
    this.#closed = true;
    const closed = new SpeechError('closed', `${this.#options.name} is closed`);
    for (const task of this.#waiting.splice(0)) task.result.reject(closed);
    await this.#letFinish(closed);
    await this.#end(closed);
  }

  /** Native code that is cut off in the middle crashes the process, so a worker may finish its work. */
  async #letFinish(reason: SpeechError): Promise<void> {
    const task = this.#running;
    if (task === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = resolve;
    this.#cancel(task, reason);
    const limit = setTimeout(resolve, closingMs);
    await promise;
    clearTimeout(limit);
  }

  #enqueue(work: unknown, urgent: boolean): Task {
    const { name, maxWaiting } = this.#options;
    if (this.#closed) throw new SpeechError('closed', `${name} is closed`);
    if (this.#waiting.length >= maxWaiting) throw new SpeechError('busy', `${name} has too much to do`);
    this.#lastId += 1;
    const task: Task = { id: this.#lastId, work, urgent, result: Promise.withResolvers() };
    const place = urgent ? this.#waiting.findIndex((other) => !other.urgent) : -1;
    this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, task);
    this.#next();
    return task;
  }

  #cancel(task: Task, reason: unknown): void {
    task.result.reject(reason);
    const place = this.#waiting.indexOf(task);
    if (place >= 0) this.#waiting.splice(place, 1);
    if (task === this.#running) this.#post({ id: task.id, cancel: true });
  }

  #next(): void {
    if (this.#running !== undefined) return;
    const task = this.#waiting.shift();
    // An idle worker does not keep the process alive.
    if (task === undefined) return void this.#worker?.unref();
    this.#running = task;
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#limitTime();
    this.#post({ id: task.id, work: task.work });
  }

  #start(): Worker {
    const { script, name, settings } = this.#options;
    pinRuntime('onnxruntime-node');
    const worker = new Worker(script, {
      name,
      workerData: settings,
      execArgv: [],
      stdout: false,
      stderr: false,
    });
    worker.on('message', (message: WorkerMessage) => this.#receive(message));
    worker.on('error', (error) => this.#died(worker, error));
    worker.on('exit', (code) => this.#died(worker, new Error(`it ended with ${code}`)));
    return worker;
  }

  #receive(message: WorkerMessage): void {
    const task = this.#running;
    if (task === undefined || task.id !== message.id) return;
    if ('error' in message) task.result.reject(revived(message.error));
    else task.result.resolve(message.value);
    this.#done();
  }

  #done(): void {
    clearTimeout(this.#timeout);
    this.#running = undefined;
    this.#finished?.();
    this.#next();
  }

  #died(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return;
    const { name, logger } = this.#options;
    this.#worker = undefined;
    logger.warn({ error: cause, worker: name }, 'speech worker died; it restarts when it is needed');
    this.#running?.result.reject(new SpeechError('crashed', `${name} died while it worked`, { cause }));
    this.#done();
  }

  #limitTime(): void {
    const { name, timeoutMs } = this.#options;
    this.#timeout = setTimeout(() => {
      const message = `${name} said nothing for ${timeoutMs / 1000} s and was given up`;
      void this.#end(new SpeechError('timeout', message)).then(() => this.#next());
    }, timeoutMs);
    this.#timeout.unref();
  }

  async #end(reason: SpeechError): Promise<void> {
    clearTimeout(this.#timeout);
    const worker = this.#worker;
    const isBusy = this.#running !== undefined;
    this.#worker = undefined;
    this.#running?.result.reject(reason);
    this.#running = undefined;
    if (worker !== undefined) await (isBusy ? abandon(worker) : worker.terminate());
  }

  #post(message: HostMessage): void {
    this.#worker?.postMessage(message);
  }
}

const pinned = new Set<string>();

/**
 * Loads a native runtime in this thread too. Where only a worker loads it, Linux on arm64 unloads it with that worker:
 * under its own threads, or so that no later worker can load it again ("Module did not self-register").
 */
export function pinRuntime(name: string): void {
  if (pinned.has(name)) return;
  pinned.add(name);
  try {
    createRequire(import.meta.url)(name);
  } catch {
    // The worker fails in the same way and reports it, with what to do.
  }
}

/** Native code that is cut off in the middle crashes the process: such a worker ends with its next message, or with the process. */
function abandon(worker: Worker): void {
  worker.removeAllListeners('message');
  worker.once('message', () => void worker.terminate());
  worker.unref();
}

const codes: readonly string[] = ['missing', 'unsupported', 'unreadable'] satisfies SpeechError['code'][];

function revived({ message, code }: { message: string; code: string | undefined }): SpeechError {
  const known = code !== undefined && codes.includes(code) ? (code as SpeechError['code']) : 'crashed';
  return new SpeechError(known, message);
}

export type CreateHost = (name: string, script: URL, settings?: object) => WorkerHost;

/** Creates the workers of all models; none starts before it is needed. */
export function createHosts(logger: Logger): CreateHost {
  return (name, script, settings) => new WorkerHost({ name, script, settings, logger });
}

export type HostMessage = { id: number; work: unknown } | { id: number; cancel: true };

export type WorkerMessage =
  | { id: number; value: unknown }
  | { id: number; error: { message: string; code: string | undefined } };
