import type { Logger } from '@trunkline/config';

export interface PollerSettings {
  name: string;
  everyMs: () => number;
  poll(signal: AbortSignal): Promise<void>;
  /** Not asked while this says no. */
  isOn: () => boolean;
  logger: Logger;
}

const lookMs = 5000;

/** Asks again and again, one question at a time; a failure is logged and the next question comes in its time. */
export class Poller {
  readonly #settings: PollerSettings;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: PollerSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#turn = this.#ask().finally(() => {
      if (this.#stopping.signal.aborted) return;
      this.#timer = setTimeout(() => this.start(), this.#pause());
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#turn;
  }

  /** What is off is looked at often, so that it begins soon after it is switched on. */
  #pause(): number {
    const { everyMs, isOn } = this.#settings;
    return isOn() ? everyMs() : Math.min(everyMs(), lookMs);
  }

  async #ask(): Promise<void> {
    const { name, poll, isOn, logger } = this.#settings;
    const { signal } = this.#stopping;
    if (!isOn()) return;
    try {
      await poll(signal);
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ err: error, poll: name }, 'asking the cloud suite failed; it is asked again');
    }
  }
}
