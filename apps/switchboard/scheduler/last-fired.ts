import type { Logger } from '@trunkline/config';
import type { Registrar } from '../control/registrar.ts';
import type { CronFolder } from './cron-folder.ts';
import { withField } from './record-text.ts';

export interface LastFiredSettings {
  folder: CronFolder;
  registrar: Registrar;
  logger: Logger;
}

/**
 * Writes `lastFired` into the files, one at a time behind the fires: the ledger knew first,
 * so a crash in between loses nothing, and thousands of fires at once are not held up by the disk.
 */
export class LastFired {
  readonly #settings: LastFiredSettings;
  readonly #waiting = new Map<string, number>();
  #running: Promise<void> | undefined;
  #writing: { id: string; done: Promise<void> } | undefined;
  #closed = false;

  constructor(settings: LastFiredSettings) {
    this.#settings = settings;
  }

  note(id: string, scheduledAt: number): void {
    this.#waiting.set(id, scheduledAt);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing will be written for this id any more: its file is about to be changed or removed. */
  async release(id: string): Promise<void> {
    this.#waiting.delete(id);
    if (this.#writing?.id === id) await this.#writing.done;
  }

  /** Resolves when everything noted is written. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Ends after the write under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // What fires now goes first.
    await new Promise((resolve) => setImmediate(resolve));
    for (const [id, scheduledAt] of this.#waiting) {
      if (this.#closed) break;
      this.#waiting.delete(id);
      this.#writing = { id, done: this.#write(id, scheduledAt) };
      await this.#writing.done;
    }
    this.#running = undefined;
  }

  async #write(id: string, scheduledAt: number): Promise<void> {
    const { folder, registrar, logger } = this.#settings;
    try {
      const text = folder.text(id);
      if (text === undefined || folder.get(id) === undefined) return;
      const changed = withField(text, 'lastFired', new Date(scheduledAt).toISOString());
      await registrar.writeText('cron', id, changed, { actor: 'scheduler', quiet: true });
      folder.refresh(id);
    } catch (error) {
      logger.warn({ err: error, schedule: id }, 'lastFired could not be written; the ledger has it');
    }
  }
}
