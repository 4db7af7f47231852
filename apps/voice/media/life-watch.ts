import type { Clock, Timer } from '@trunkline/schedule';

const lookEveryMs = 500;
/** Two seconds without one packet. */
const stillLooks = 4;

export interface LifeWatchOptions {
  clock: Clock;
  packetsReceived(): Promise<number>;
  /** Called at every look, for events of the library may come too early to show the new state. */
  onLook(): void;
  onGone(reason: string): void;
  onError(error: unknown): void;
}

/** Notices that no packet comes any more, long before the library does. */
export class LifeWatch {
  readonly #options: LifeWatchOptions;
  #timer: Timer | undefined;
  #packets = 0;
  #still = 0;

  constructor(options: LifeWatchOptions) {
    this.#options = options;
    this.#arm();
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
    this.#options.onLook();
    const packets = await this.#options.packetsReceived();
    if (this.#timer === undefined) return;
    // Before the first packet there is nothing to miss.
    this.#still = packets !== this.#packets || packets === 0 ? 0 : this.#still + 1;
    this.#packets = packets;
    this.#arm();
    if (this.#still >= stillLooks) this.#options.onGone('no packet came for two seconds');
  }
}
