import { Worker } from 'node:worker_threads';
import type { Logger } from '@trunkline/config';
import { SpeechError } from '../speech-error.ts';

/** Pieces of work that may wait for one model. */
const maxWaiting = 64;

/** Long enough to check and load the largest model on a busy machine. */
const timeoutMs = 60_000;

export interface WorkerHostOptions {
  /** What it is called in errors and in the log. */
  name: string;
  script: URL;
  /** Handed to the worker when it starts. */
  settings?: unknown;
  /** Work beyond this many pieces is refused. */
  maxWaiting: number;
  /** A worker that says nothing for so long is taken for stuck and another takes its place. */
  timeoutMs: number;
  logger: Logger;
}

export interface WorkOptions {
  signal?: AbortSignal | undefined;
  /** Goes before what is not urgent. */
  urgent?: boolean;
}

interface Task {
  id: number;
  work: unknown;
  urgent: boolean;
  values: Channel<unknown>;
}

/** A worker that is closed gets so long to come to the end of its work; on a busy machine a model takes that to load. */
const closingMs = 30_000;

/** A worker thread that does one piece of work after the other; started when first needed, and again after it died. */
export class WorkerHost {
  readonly #options: WorkerHostOptions;
  readonly #waiting: Task[] = [];
  #running: Task | undefined;
  #worker: Worker | undefined;
  #alarm: NodeJS.Timeout | undefined;
  #last = 0;
  /** Called when the work that runs is over. */
  #finished: (() => void) | undefined;
  #closed = false;

  constructor(options: WorkerHostOptions) {
    this.#options = options;
  }

  /** The one value that the work gives. */
  async ask<Value>(work: unknown, options: WorkOptions = {}): Promise<Value> {
    for await (const value of this.stream<Value>(work, options)) return value;
    throw new SpeechError('crashed', `${this.#options.name} gave no answer`);
  }

  /** The values of the work as they come; a reader that leaves cancels it. */
  async *stream<Value>(
    work: unknown,
    { signal, urgent = false }: WorkOptions = {},
  ): AsyncGenerator<Value, void> {
    signal?.throwIfAborted();
    const task = this.#enqueue(work, urgent);
    const cancel = () => this.#cancel(task, signal?.reason);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      yield* task.values.read() as AsyncGenerator<Value, void>;
    } finally {
      signal?.removeEventListener('abort', cancel);
      cancel();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const ended = new SpeechError('closed', `${this.#options.name} is closed`);
    for (const task of this.#waiting.splice(0)) task.values.fail(ended);
    await this.#letFinish(ended);
    await this.#end(ended);
  }

  /** Native code that is cut off in the middle takes the process with it, so a worker may come to the end of its work. */
  async #letFinish(ended: SpeechError): Promise<void> {
    const task = this.#running;
    if (task === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = resolve;
    this.#cancel(task, ended);
    const patience = setTimeout(resolve, closingMs);
    await promise;
    clearTimeout(patience);
  }

  #enqueue(work: unknown, urgent: boolean): Task {
    const { name, maxWaiting } = this.#options;
    if (this.#closed) throw new SpeechError('closed', `${name} is closed`);
    if (this.#waiting.length >= maxWaiting) throw new SpeechError('busy', `${name} has too much to do`);
    this.#last += 1;
    const task: Task = { id: this.#last, work, urgent, values: new Channel() };
    const place = urgent ? this.#waiting.findIndex((other) => !other.urgent) : -1;
    this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, task);
    this.#next();
    return task;
  }

  #cancel(task: Task, reason: unknown): void {
    task.values.fail(reason);
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
    this.#watch();
    this.#post({ id: task.id, work: task.work });
  }

  #start(): Worker {
    const { script, name, settings } = this.#options;
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
    if ('value' in message) {
      task.values.push(message.value);
      this.#watch();
      return;
    }
    if ('error' in message) task.values.fail(revived(message.error));
    else task.values.end();
    this.#done();
  }

  #done(): void {
    clearTimeout(this.#alarm);
    this.#running = undefined;
    this.#finished?.();
    this.#next();
  }

  #died(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return;
    const { name, logger } = this.#options;
    this.#worker = undefined;
    logger.warn({ error: cause, worker: name }, 'speech worker died; it restarts when it is needed');
    this.#running?.values.fail(new SpeechError('crashed', `${name} died while it worked`, { cause }));
    this.#done();
  }

  /** Restarts the timeout with every value. */
  #watch(): void {
    const { name, timeoutMs } = this.#options;
    clearTimeout(this.#alarm);
    this.#alarm = setTimeout(() => {
      const stuck = new SpeechError(
        'timeout',
        `${name} said nothing for ${timeoutMs / 1000} s and was given up`,
      );
      void this.#end(stuck).then(() => this.#next());
    }, timeoutMs);
    this.#alarm.unref();
  }

  async #end(reason: SpeechError): Promise<void> {
    clearTimeout(this.#alarm);
    const worker = this.#worker;
    const isBusy = this.#running !== undefined;
    this.#worker = undefined;
    this.#running?.values.fail(reason);
    this.#running = undefined;
    if (worker !== undefined) await (isBusy ? abandon(worker) : worker.terminate());
  }

  #post(message: HostMessage): void {
    this.#worker?.postMessage(message);
  }
}

/** Native code that is cut off in the middle takes the process with it: such a worker ends when it speaks again, or with the process. */
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

/** Values that come by and by, read by one reader. */
class Channel<Value> {
  readonly #values: Value[] = [];
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wake: (() => void) | undefined;

  get isOver(): boolean {
    return this.#ended || this.#failure !== undefined;
  }

  push(value: Value): void {
    if (this.isOver) return;
    this.#values.push(value);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The first failure counts; what came before it is still read. */
  fail(error: unknown): void {
    if (this.isOver) return;
    this.#failure = { error };
    this.#wake?.();
  }

  async *read(): AsyncGenerator<Value, void> {
    for (;;) {
      const next = this.#values.shift();
      if (next !== undefined) yield next;
      else if (this.#failure !== undefined) throw this.#failure.error;
      else if (this.#ended) return;
      else await this.#news();
    }
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

export type CreateHost = (name: string, script: URL, settings?: object) => WorkerHost;

/** Makes the workers of all models alike; none is started before it is needed. */
export function createHosts(logger: Logger): CreateHost {
  return (name, script, settings = {}) =>
    new WorkerHost({ name, script, settings, maxWaiting, timeoutMs, logger });
}

/** What a host says to its worker. */
export type HostMessage = { id: number; work: unknown } | { id: number; cancel: true };

/** What a worker says to its host: any number of values for a piece of work, then its end or an error. */
export type WorkerMessage =
  | { id: number; value: unknown }
  | { id: number; end: true }
  | { id: number; error: { message: string; code: string | undefined } };
