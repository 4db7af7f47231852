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

/** Started before anybody knew its options. */
let prepared: JournalThread | undefined;

/**
 * Starts the thread of the next journal. Node needs a tenth of a second for a thread, in which whoever starts a program can
 * load the rest of it.
 */
export function prepareJournal(): JournalThread {
  prepared ??= new JournalThread();
  return prepared;
}

/** Ends a prepared thread that nobody needs. */
export async function discardJournal(): Promise<void> {
  const unused = prepared;
  prepared = undefined;
  await unused?.terminate();
}

/** The journal as seen from the main thread: calls are answered in the order in which they were made. */
export class JournalThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #failure: BusError | undefined;

  /** On the prepared thread if there is one. */
  static open(options: JournalOptions): JournalThread {
    const thread = prepared === undefined || prepared.#failure !== undefined ? new JournalThread() : prepared;
    prepared = undefined;
    thread.#worker.postMessage(options);
    return thread;
  }

  constructor() {
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url));
    this.#worker.on('message', (outcome: Outcome) => this.#settle(outcome));
    this.#worker.on('error', (error) => this.#fail(`The journal thread failed: ${error.message}`, error));
    this.#worker.on('exit', () => this.#fail('The journal is closed.'));
  }

  /** Set once the thread has ended: nothing can be journalled any more. */
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

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    await this.call('close');
    await ended;
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
