import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@trunkline/config';
import type { ControlPlane } from '../control/control-plane.ts';
import type { CronFolder } from './cron-folder.ts';
import { editRecord } from './edit-record.ts';
import { withField } from './record-text.ts';

export interface AfterFireSettings {
  folder: CronFolder;
  controlPlane: ControlPlane;
  /** Whether fires are on their way out, which files must not hold up. */
  isBusy: () => boolean;
  /** A one-shot's file is gone. */
  onRemoved: (id: string) => Promise<void>;
  logger: Logger;
}

/** A time to write into a file, or the time of a one-shot whose file goes. */
type Work = { firedAt: number } | { over: string };

const longestHold = 5000;
const holdMs = 10;

/**
 * Brings the files up to date behind the fires, one at a time: `lastFired` is written, one-shots that are over are removed.
 * The ledger knew first, so a crash in between loses nothing, and thousands of fires at once are not held up by the disk.
 */
export class FireCompletion {
  readonly #settings: AfterFireSettings;
  readonly #waiting = new Map<string, Work>();
  #running: Promise<void> | undefined;
  #writing: { id: string; done: Promise<void> } | undefined;
  #closed = false;

  constructor(settings: AfterFireSettings) {
    this.#settings = settings;
  }

  fired(id: string, scheduledAt: number): void {
    this.#add(id, { firedAt: scheduledAt });
  }

  /** A one-shot is over: its file goes, unless it has another time by then. */
  finished(id: string, schedule: string): void {
    this.#add(id, { over: schedule });
  }

  /** Resolves when nothing will be written for this id any more: its file is about to be changed or removed. */
  async release(id: string): Promise<void> {
    this.#waiting.delete(id);
    if (this.#writing?.id === id) await this.#writing.done;
  }

  /** Ends after the write under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#hold();
    for (const [id, what] of this.#waiting) {
      if (this.#closed) break;
      this.#waiting.delete(id);
      this.#writing = { id, done: this.#bring(id, what) };
      await this.#writing.done;
      if (this.#settings.isBusy()) await this.#hold();
    }
    this.#running = undefined;
  }

  /** What fires now goes first, but files are not forgotten over it. */
  async #hold(): Promise<void> {
    const end = performance.now() + longestHold;
    do await delay(holdMs);
    while (this.#settings.isBusy() && !this.#closed && performance.now() < end);
  }

  #add(id: string, what: Work): void {
    this.#waiting.set(id, what);
    this.#running ??= this.#run();
  }

  async #bring(id: string, what: Work): Promise<void> {
    try {
      if ('over' in what) await this.#remove(id, what.over);
      else await this.#write(id, what.firedAt);
    } catch (error) {
      this.#settings.logger.warn({ err: error, schedule: id }, 'the file is not up to date; the ledger is');
    }
  }

  async #remove(id: string, schedule: string): Promise<void> {
    const { folder, controlPlane, onRemoved } = this.#settings;
    folder.refresh(id);
    if ((folder.get(id)?.record.schedule ?? schedule) !== schedule) return;
    await controlPlane.remove('cron', id, { actor: 'scheduler', reason: 'it fired', quiet: true });
    folder.refresh(id);
    await onRemoved(id);
  }

  async #write(id: string, scheduledAt: number): Promise<void> {
    const note = { actor: 'scheduler', quiet: true };
    const lastFired = new Date(scheduledAt).toISOString();
    await editRecord(this.#settings, id, (text) => withField(text, 'lastFired', lastFired), note);
  }
}
