import type { BusLogger } from '../port.ts';
import type { Progress } from './journal/progress-table.ts';
import type { JournalThread } from './journal/thread.ts';

/** Cursors that are being written, by name. */
type Write = Map<string, Progress>;

const writeAgainMs = 1000;

/**
 * Writes cursors to the journal: with the next messages while some are being written, otherwise at the end of the turn
 * of the event loop in which they moved. What could not be written is kept for the next write.
 */
export class CursorSaver {
  readonly #journal: JournalThread;
  readonly #logger: BusLogger;
  readonly #moved = new Map<string, number>();
  /** What was finished beyond the cursor since the last write, by name. */
  readonly #finished = new Map<string, number[]>();
  /** Writes under way, in their order, which is also that of their ends. */
  readonly #writes = new Set<Write>();
  #scheduled = false;
  #isHeld = false;
  #again: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(journal: JournalThread, logger: BusLogger) {
    this.#journal = journal;
    this.#logger = logger;
  }

  save(name: string, position: number): void {
    this.#moved.set(name, position);
    this.#schedule();
  }

  /** Also notes a position beyond the cursor as finished, so that it does not come again after a restart. */
  saveFinished(name: string, cursor: number, position: number): void {
    this.#addFinished(name, [position]);
    this.save(name, cursor);
  }

  /** Leaves the cursor where it is in the journal. */
  drop(name: string): void {
    this.#moved.delete(name);
    this.#finished.delete(name);
    for (const write of this.#writes) write.delete(name);
  }

  /** Messages are about to be written, and take the cursors along. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    if (this.#moved.size > 0) this.#schedule();
  }

  /** Hands what moved to `save`; when it fails, the cursors are kept. */
  async write<Result>(save: (moved: readonly Progress[]) => Promise<Result>): Promise<Result> {
    const write: Write = new Map();
    for (const [name, position] of this.#moved) write.set(name, this.#progressOf(name, position));
    this.#moved.clear();
    this.#finished.clear();
    this.#writes.add(write);
    try {
      const result = await save([...write.values()]);
      this.#writes.delete(write);
      return result;
    } catch (error) {
      this.#writes.delete(write);
      this.#keep(write);
      throw error;
    }
  }

  async flush(): Promise<void> {
    if (this.#moved.size === 0) return;
    try {
      await this.write((moved) => this.#journal.call('saveProgress', moved));
    } catch (error) {
      this.#logger.error({ err: error }, 'failed to save cursors; retrying');
    }
  }

  /** The last write; what fails now is left to come again. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    await this.flush();
  }

  #schedule(): void {
    if (this.#scheduled || this.#isHeld) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#isHeld) void this.flush();
    });
  }

  /** Queues a failed write again, with the cursor as it is now. */
  #keep(write: Write): void {
    if (write.size === 0) return;
    for (const [name, position, finished] of write.values()) {
      const later = [...this.#writes].map((other) => other.get(name)?.[1] ?? 0);
      if (!this.#moved.has(name)) this.#moved.set(name, Math.max(position, ...later));
      this.#addFinished(name, finished);
    }
    clearTimeout(this.#again);
    if (!this.#closed) this.#again = setTimeout(() => void this.flush(), writeAgainMs).unref();
  }

  #addFinished(name: string, positions: readonly number[]): void {
    const known = this.#finished.get(name);
    if (known === undefined) this.#finished.set(name, [...positions]);
    else for (const position of positions) known.push(position);
  }

  /** The cursor may have passed meanwhile what was finished ahead of it. */
  #progressOf(name: string, position: number): Progress {
    const finished = this.#finished.get(name) ?? [];
    return [name, position, finished.filter((ahead) => ahead > position)];
  }
}
