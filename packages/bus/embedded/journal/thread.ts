import { Worker } from 'node:worker_threads';
import { BusError, type BusErrorCode } from '../../errors.ts';
import type { Journal, JournalOptions } from './journal.ts';

export interface Call {
  id: number;
  method: keyof Journal;
  parameters: unknown[];
}

export type Outcome =
  | { id: number; result: unknown }
  | { id: number; error: { code: string; message: string } };

interface Waiting {
  resolve(result: never): void;
  reject(error: BusError): void;
}

const ownCodes: readonly string[] = ['disk_full', 'journal_full', 'journal_in_use'] satisfies BusErrorCode[];

/** Waits for the options of a journal: started early, or left by a journal that was closed. */
let idle: Worker | undefined;

/**
 * Starts the thread of the next journal. Node needs a tenth of a second for a thread, in which whoever starts a program can
 * load the rest of it.
 */
export function prepareJournal(): void {
  if (idle === undefined) keepIdle(new Worker(new URL('./worker.ts', import.meta.url)));
}

/** Ends an idle thread that nobody needs. */
export async function discardJournal(): Promise<void> {
  await takeIdle()?.terminate();
}

/** Does not keep the process alive. */
function keepIdle(worker: Worker): void {
  idle = worker;
  worker.unref();
  const forget = () => {
    if (idle === worker) idle = undefined;
  };
  worker.on('error', forget).on('exit', forget);
}

function takeIdle(): Worker | undefined {
  const worker = idle;
  idle = undefined;
  worker?.removeAllListeners().ref();
  return worker;
}

/** The journal as seen from the main thread: calls are answered in the order in which they were made. */
export class JournalThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #failure: BusError | undefined;

  /** On the idle thread if there is one. */
  static open(options: JournalOptions): JournalThread {
    prepareJournal();
    return new JournalThread(takeIdle() as Worker, options);
  }

  private constructor(worker: Worker, options: JournalOptions) {
    this.#worker = worker;
    worker.on('message', (outcome: Outcome) => this.#settle(outcome));
    worker.on('error', (error) => this.#fail(`The journal thread failed: ${error.message}`, error));
    worker.on('exit', () => this.#fail('The journal is closed.'));
    worker.postMessage(options);
  }

  /** Set once it is closed or its thread has ended: nothing can be journalled any more. */
  get failure(): BusError | undefined {
    return this.#failure;
  }

  call<Method extends keyof Journal>(
    method: Method,
    ...parameters: Parameters<Journal[Method]>
  ): Promise<ReturnType<Journal[Method]>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#nextId;
    this.#nextId += 1;
    const call: Call = { id, method, parameters };
    this.#worker.postMessage(call);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Leaves the thread to the next journal. */
  async close(): Promise<void> {
    const closed = this.call('close');
    // The thread takes what comes after this call for the options of the next journal.
    this.#failure = new BusError('engine_failed', 'The journal is closed.');
    try {
      await closed;
    } catch (error) {
      await this.terminate();
      throw error;
    }
    this.#worker.removeAllListeners();
    if (idle === undefined) keepIdle(this.#worker);
    else await this.terminate();
  }

  /** Ends the thread at once. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting.get(outcome.id);
    this.#waiting.delete(outcome.id);
    if ('result' in outcome) waiting?.resolve(outcome.result as never);
    else waiting?.reject(rebuilt(outcome.error));
  }

  #fail(words: string, cause?: unknown): void {
    this.#failure ??= new BusError('engine_failed', words, { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

function rebuilt({ code, message }: { code: string; message: string }): BusError {
  return new BusError(ownCodes.includes(code) ? (code as BusErrorCode) : 'engine_failed', message);
}
