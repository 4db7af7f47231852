import type { Logger } from '@trunkline/config';
import type { Clock, Timer } from '@trunkline/schedule';
import type { FireRow } from '../api-types.ts';

export interface LateNoteSettings {
  clock: Clock;
  logger: Logger;
  note: (row: FireRow) => Promise<unknown>;
}

const firstWaitMs = 1000;
const longestWaitMs = 30_000;
const mostWaiting = 100_000;

/** How fires ended, where it could not be noted: a full disk, or a bus that is away, is tried again until it is well. */
export class DeferredWrites {
  readonly #settings: LateNoteSettings;
  readonly #waiting = new Map<string, FireRow>();
  #timer: Timer | undefined;
  #waitMs = firstWaitMs;
  #closed = false;

  constructor(settings: LateNoteSettings) {
    this.#settings = settings;
  }

  /** What does not fit is learnt from the journal after a restart. */
  keep(row: FireRow, error: unknown): void {
    const { logger } = this.#settings;
    const isKept = !this.#closed && this.#waiting.size < mostWaiting;
    const words = isKept ? 'is not noted yet' : 'is noted after a restart only';
    logger.error({ err: error, fireId: row.fireId }, `the end of a fire ${words}`);
    if (!isKept) return;
    this.#waiting.set(row.fireId, row);
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer ??= this.#settings.clock.setTimer(this.#waitMs, () => void this.#tryAgain());
  }

  async #tryAgain(): Promise<void> {
    const outcomes = await Promise.allSettled([...this.#waiting.values()].map((row) => this.#try(row)));
    this.#timer = undefined;
    const failed = outcomes.some(({ status }) => status === 'rejected');
    this.#waitMs = failed ? Math.min(2 * this.#waitMs, longestWaitMs) : firstWaitMs;
    if (this.#waiting.size > 0 && !this.#closed) this.#arm();
  }

  async #try(row: FireRow): Promise<void> {
    await this.#settings.note(row);
    if (this.#waiting.get(row.fireId) === row) this.#waiting.delete(row.fireId);
  }
}
