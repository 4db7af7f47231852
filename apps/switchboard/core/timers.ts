import type { Logger } from '@trunkline/config';
import { type Clock, systemClock, type Timer } from '@trunkline/schedule';

const hourMs = 60 * 60 * 1000;
/** What is switched off is looked at this often, so that it begins soon after it is switched on. */
const lookMs = 5000;

/**
 * Runs work now and every hour; a failure, as on a full disk, ends neither the process nor its start.
 * Work that returns true has more to do and goes on when others had their turn.
 */
export function hourly(work: () => unknown, logger: Logger): () => void {
  let more: NodeJS.Immediate | undefined;
  const run = () => {
    try {
      if (work() === true) more = setImmediate(run);
    } catch (error) {
      logger.error({ err: error }, 'failed to delete old rows; retrying in an hour');
    }
  };
  run();
  const timer = setInterval(run, hourMs).unref();
  return () => {
    clearInterval(timer);
    clearImmediate(more);
  };
}

/** Resolves after the time; rejects with the reason of the signal when that comes first. */
export function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = clock.setTimer(delayMs, resolve);
  const stop = () => {
    timer.cancel();
    reject(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', stop));
}

export interface PollerSettings {
  everyMs: () => number;
  poll(signal: AbortSignal): Promise<void>;
  /** Called when a poll fails; the next comes in its time. */
  onError(error: unknown): void | Promise<void>;
  /** No poll while this says no. */
  isOn?: () => boolean;
  clock?: Clock;
}

/** Polls until it is stopped, one poll at a time. */
export class Poller {
  readonly #settings: PollerSettings;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: PollerSettings) {
    this.#settings = settings;
  }

  start(): void {
    const { everyMs, isOn = () => true, clock = systemClock } = this.#settings;
    this.#turn = this.#poll(isOn()).then(() => {
      if (this.#stopping.signal.aborted) return;
      const waitMs = isOn() ? everyMs() : Math.min(everyMs(), lookMs);
      this.#timer = clock.setTimer(waitMs, () => this.start());
    });
  }

  /** Resolves when the poll under way has ended. */
  idle(): Promise<void> {
    return this.#turn;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#turn;
  }

  async #poll(isOn: boolean): Promise<void> {
    const { signal } = this.#stopping;
    if (!isOn) return;
    try {
      await this.#settings.poll(signal);
    } catch (error) {
      if (!signal.aborted) await this.#settings.onError(error);
    }
  }
}
