import { Worker } from 'node:worker_threads';
import { type Extracted, ExtractionError, type Raw } from './extracted.ts';
import type { ExtractionReply } from './extraction-worker.ts';

export interface ExtractionPoolOptions {
  threads?: number;
  /** How long one text may take; the thread that takes longer is ended. */
  timeoutMs?: number;
  /** Tasks that may wait; beyond that a task is refused. */
  queue?: number;
}

interface Task {
  raw: Raw;
  resolve(extracted: Extracted): void;
  reject(error: Error): void;
}

interface Thread {
  worker: Worker;
  task: Task | undefined;
  timer: NodeJS.Timeout | undefined;
}

const SCRIPT = new URL('./extraction-worker.ts', import.meta.url);

/** Threads that take texts out of pages, so that a huge or hostile page never holds up the service. */
export class ExtractionPool {
  readonly #threads = new Set<Thread>();
  readonly #waiting: Task[] = [];
  readonly #most: number;
  readonly #timeoutMs: number;
  readonly #queue: number;
  #stopped = false;

  constructor({ threads = 2, timeoutMs = 20_000, queue = 1000 }: ExtractionPoolOptions = {}) {
    this.#most = threads;
    this.#timeoutMs = timeoutMs;
    this.#queue = queue;
  }

  /** Starts the threads before there is work for them: what they read with takes a moment to load. */
  warm(): void {
    while (!this.#stopped && this.#threads.size < this.#most) this.#startThread();
  }

  /** The text of a page or file; rejects with an ExtractionError whose words complete the sentence "it ...". */
  extract(raw: Raw): Promise<Extracted> {
    if (this.#stopped) return Promise.reject(new ExtractionError('cannot be read as the service stops'));
    if (this.#waiting.length >= this.#queue)
      return Promise.reject(new ExtractionError('has to wait for too many others'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ raw, resolve, reject });
      this.#next();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const task of this.#waiting.splice(0))
      task.reject(new ExtractionError('cannot be read as the service stops'));
    await Promise.all(
      [...this.#threads].map((thread) => this.#end(thread, 'cannot be read as the service stops')),
    );
  }

  #next(): void {
    const task = this.#waiting[0];
    if (task === undefined) return;
    const thread = this.#freeThread();
    if (thread === undefined) return;
    this.#waiting.shift();
    thread.task = task;
    thread.timer = setTimeout(
      () => void this.#end(thread, `takes longer than ${this.#timeoutMs} ms to read`),
      this.#timeoutMs,
    );
    thread.worker.postMessage({ id: 0, raw: task.raw });
  }

  #freeThread(): Thread | undefined {
    const free = [...this.#threads].find(({ task }) => task === undefined);
    return free !== undefined || this.#threads.size >= this.#most ? free : this.#startThread();
  }

  #startThread(): Thread {
    const thread: Thread = { worker: new Worker(SCRIPT), task: undefined, timer: undefined };
    thread.worker.unref();
    thread.worker.on('message', (reply: ExtractionReply) => this.#settle(thread, reply));
    thread.worker.on('error', (error: Error) => void this.#end(thread, `cannot be read: ${error.message}`));
    this.#threads.add(thread);
    return thread;
  }

  #settle(thread: Thread, reply: ExtractionReply): void {
    const { task } = thread;
    clearTimeout(thread.timer);
    thread.task = undefined;
    if ('extracted' in reply) task?.resolve(reply.extracted);
    else task?.reject(new ExtractionError(reply.problem));
    this.#next();
  }

  /** Ends a thread that hangs or broke; its task fails, the next task gets a new one. */
  async #end(thread: Thread, problem: string): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.timer);
    thread.task?.reject(new ExtractionError(problem));
    await thread.worker.terminate();
    this.#next();
  }
}
