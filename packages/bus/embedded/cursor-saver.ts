import type { BusLogger } from '../port.ts';
import type { Progress } from './journal/progress-table.ts';
import type { JournalThread } from './journal/thread.ts';

/** Writes cursors to the journal, at the end of each turn of the event loop in which some moved. */
export class CursorSaver {
  readonly #journal: JournalThread;
  readonly #logger: BusLogger;
  readonly #moved = new Map<string, number>();
  /** What was finished beyond the cursor since the last write, by name. */
  readonly #finished = new Map<string, number[]>();
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

  /** Also notes a position beyond the cursor as finished, so that it does not come again after a restart. */
  saveFinished(name: string, cursor: number, position: number): void {
    const known = this.#finished.get(name);
    if (known === undefined) this.#finished.set(name, [position]);
    else known.push(position);
    this.save(name, cursor);
  }

  /** Leaves the cursor where it is in the journal. */
  drop(name: string): void {
    this.#moved.delete(name);
    this.#finished.delete(name);
  }

  async flush(): Promise<void> {
    this.#scheduled = false;
    if (this.#moved.size === 0) return;
    const progress = [...this.#moved].map(([name, position]) => this.#progressOf(name, position));
    this.#moved.clear();
    this.#finished.clear();
    try {
      await this.#journal.call('saveProgress', progress);
    } catch (error) {
      this.#logger.error(
        { err: error },
        'Cursors were not saved: their messages may come again after a restart',
      );
    }
  }

  /** The cursor may have passed meanwhile what was finished ahead of it. */
  #progressOf(name: string, position: number): Progress {
    const finished = this.#finished.get(name) ?? [];
    return [name, position, finished.filter((ahead) => ahead > position)];
  }
}
