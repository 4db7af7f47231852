import type { Clock, Timer } from '@trunkline/schedule';

const lookEveryMs = 400;
/** So many looks in a row without one packet. */
const stillLooks = 4;

export interface LivenessWatchdogOptions {
  clock: Clock;
  /** Whether there is a connection that could be lost. */
  isConnected(): boolean;
  packetsReceived(): Promise<number>;
  onGone(reason: string): void;
  onError(error: unknown): void;
}

/**
 * Notices within about two seconds that nothing comes any more, long before the library does. What is heard or read is
 * life enough: counting packets keeps the library from its work, and so is done only in silence.
 */
export class LivenessWatchdog {
  readonly #options: LivenessWatchdogOptions;
  #timer: Timer | undefined;
  #alive = false;
  #packets = 0;
  #still = 0;

  constructor(options: LivenessWatchdogOptions) {
    this.#options = options;
    this.#arm();
  }

  /** Something came. */
  noticeLife(): void {
    this.#alive = true;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#options.clock.setTimer(lookEveryMs, () => {
      this.#look().catch((error: unknown) => this.#options.onError(error));
    });
  }

  async #look(): Promise<void> {
    if (!this.#alive && this.#options.isConnected()) await this.#count();
    else this.#still = 0;
    this.#alive = false;
    if (this.#timer === undefined) return;
    this.#arm();
    if (this.#still >= stillLooks) this.#options.onGone('nothing came any more');
  }

  async #count(): Promise<void> {
    const packets = await this.#options.packetsReceived();
    this.#still = packets === this.#packets ? this.#still + 1 : 0;
    this.#packets = packets;
  }
}
