import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Logger } from '@trunkline/config';
import { SpeechError } from '../speech-error.ts';
import type { Task } from './work-queue.ts';

export interface WorkerThreadOptions {
  name: string;
  script: URL;
  settings: unknown;
  timeoutMs: number;
  logger: Logger;
  /** Called when a task is over and the next may come. `workMs` is missing where the worker died or was stuck. */
  onFree(task: Task, workMs?: number): void;
}

/** A closed worker gets this long to finish its work; on a busy machine a model takes that to load. */
const closingMs = 30_000;

/** A worker thread that does one task at a time; started when first needed, and again after it died. */
export class WorkerThread {
  readonly #options: WorkerThreadOptions;
  #task: Task | undefined;
  #worker: Worker | undefined;
  #timeout: NodeJS.Timeout | undefined;
  /** Called when the running task is over. */
  #finished: (() => void) | undefined;
  /** It has done something, so its model is loaded. */
  isWarm = false;
  /** When it last had something to do. */
  usedAt = performance.now();

  constructor(options: WorkerThreadOptions) {
    this.#options = options;
  }

  get task(): Task | undefined {
    return this.#task;
  }

  run(task: Task): void {
    this.#task = task;
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#limitTime();
    this.#post({ id: task.id, work: task.work });
  }

  /** An idle worker does not keep the process alive. */
  rest(): void {
    this.#worker?.unref();
  }

  /** Asks the worker to stop the task; its result is rejected at once. */
  cancel(reason: unknown): void {
    if (this.#task === undefined) return;
    this.#task.result.reject(reason);
    this.#post({ id: this.#task.id, cancel: true });
  }

  /** Native code that is cut off in the middle crashes the process, so a worker may finish its work. */
  async finish(reason: SpeechError): Promise<void> {
    if (this.#task === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = resolve;
    this.cancel(reason);
    const limit = setTimeout(resolve, closingMs);
    await promise;
    clearTimeout(limit);
  }

  async end(reason: SpeechError): Promise<void> {
    clearTimeout(this.#timeout);
    const [worker, task] = [this.#worker, this.#task];
    this.#worker = undefined;
    this.isWarm = false;
    task?.result.reject(reason);
    this.#task = undefined;
    if (worker !== undefined) await (task === undefined ? worker.terminate() : abandon(worker));
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
    const task = this.#task;
    if (task === undefined || task.id !== message.id) return;
    if ('error' in message) task.result.reject(revived(message.error));
    else {
      this.isWarm = true;
      task.result.resolve(message.value);
    }
    this.#done(message.workMs);
  }

  #done(workMs?: number): void {
    clearTimeout(this.#timeout);
    const task = this.#task;
    this.#task = undefined;
    this.usedAt = performance.now();
    this.#finished?.();
    if (task !== undefined) this.#options.onFree(task, workMs);
  }

  #died(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return;
    const { name, logger } = this.#options;
    this.#worker = undefined;
    this.isWarm = false;
    logger.warn({ error: cause, worker: name }, 'speech worker died; it restarts when it is needed');
    this.#task?.result.reject(new SpeechError('crashed', `${name} died while it worked`, { cause }));
    this.#done();
  }

  #limitTime(): void {
    const { name, timeoutMs } = this.#options;
    this.#timeout = setTimeout(() => {
      const task = this.#task;
      const message = `${name} said nothing for ${timeoutMs / 1000} s and was given up`;
      void this.end(new SpeechError('timeout', message)).then(() => {
        if (task !== undefined) this.#options.onFree(task);
      });
    }, timeoutMs);
    this.#timeout.unref();
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

export type HostMessage = { id: number; work: unknown } | { id: number; cancel: true };

/** `workMs`: what the work took, without the loading of models. */
export type WorkerMessage = { id: number; workMs: number } & (
  | { value: unknown }
  | { error: { message: string; code: string | undefined } }
);
