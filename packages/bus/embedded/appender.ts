import { BusError } from '../errors.ts';
import type { Checked } from '../message.ts';
import type { Message } from '../port.ts';
import type { Row } from './journal/message-table.ts';
import type { JournalThread } from './journal/thread.ts';

interface Waiting {
  message: Message;
  text: string;
  resolve(): void;
  reject(error: unknown): void;
}

/** Text waiting for the disk; beyond it publishers are refused. */
const maximumWaitingCharacters = 67_108_864;
const maximumBatch = 2000;

/**
 * Writes messages into the journal, all that came in while the last ones were written with one wait for the disk.
 * `stored` is called in the order of the journal, before the publisher is answered; a known id is not stored again.
 */
export class Appender {
  readonly #journal: JournalThread;
  readonly #stored: (message: Message, position: number) => void;
  #waiting: Waiting[] = [];
  #characters = 0;
  #busy = false;
  #pending = 0;

  constructor(journal: JournalThread, stored: (message: Message, position: number) => void) {
    this.#journal = journal;
    this.#stored = stored;
  }

  /** Messages whose publishers are not answered yet. */
  get pending(): number {
    return this.#pending;
  }

  append(checked: Checked): Promise<void> {
    if (this.#characters > maximumWaitingCharacters) throw new BusError('overloaded', overloadWords);
    const text = checked.text();
    this.#characters += text.length;
    this.#pending += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ message: checked.message, text, resolve, reject });
    this.#schedule();
    return promise;
  }

  /** At the end of this turn of the event loop, so that everything published in it shares one write. */
  #schedule(): void {
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(() => void this.#write());
  }

  async #write(): Promise<void> {
    const batch = this.#waiting.splice(0, maximumBatch);
    try {
      const positions = await this.#journal.call('append', batch.map(rowOf));
      for (const [index, waiting] of batch.entries()) this.#accept(waiting, positions[index] ?? 0);
    } catch (error) {
      for (const waiting of batch) this.#refuse(waiting, error);
    }
    this.#busy = false;
    if (this.#waiting.length > 0) this.#schedule();
  }

  #accept(waiting: Waiting, position: number): void {
    this.#settle(waiting);
    if (position > 0) this.#stored(waiting.message, position);
    waiting.resolve();
  }

  #refuse(waiting: Waiting, error: unknown): void {
    this.#settle(waiting);
    waiting.reject(error);
  }

  #settle({ text }: Waiting): void {
    this.#characters -= text.length;
    this.#pending -= 1;
  }
}

function rowOf({ message, text }: Waiting): Row {
  return [message.id, message.topic, message.correlationId, text, null];
}

const overloadWords =
  'Too much waits to be written to the bus journal: publish more slowly, or move the journal to a faster disk.';
