import type { BusLogger } from '../port.ts';
import type { JournalThread } from './journal/thread.ts';

/** Writes cursors to the journal, at the end of each turn of the event loop in which some moved. */
export class CursorSaver {
  readonly #journal: JournalThread;
  readonly #logger: BusLogger;
  readonly #moved = new Map<string, number>();
  #scheduled = false;

  constructor(journal: JournalThread, logger: BusLogger) {
    this.#journal = journal;
    this.#logger = logger;
  }

  save(name: string, position: number): void {
    this.#moved.set(name, position);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => void this.flush());
  }

  /** Leaves the cursor where it is in the journal. */
  drop(name: string): void {
    this.#moved.delete(name);
  }

  async flush(): Promise<void> {
    this.#scheduled = false;
    if (this.#moved.size === 0) return;
    const cursors = [...this.#moved];
    this.#moved.clear();
    try {
      await this.#journal.call('saveCursors', cursors);
    } catch (error) {
      this.#logger.error(
        { err: error },
        'Cursors were not saved: their messages may come again after a restart',
      );
    }
  }
}
