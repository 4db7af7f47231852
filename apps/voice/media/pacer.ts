import type { Clock, Timer } from '@trunkline/schedule';

/** Sound leaves in packets of 20 ms. */
const tickMs = 20;

/** One timer for all lines, so that many of them do not crowd the event loop. */
export class Pacer {
  readonly #clock: Clock;
  readonly #players = new Set<() => void>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls the player about every 20 ms; gives the way to stop that. */
  add(player: () => void): () => void {
    this.#players.add(player);
    this.#timer ??= this.#arm();
    return () => this.#remove(player);
  }

  #arm(): Timer {
    return this.#clock.setTimer(tickMs, () => {
      this.#timer = this.#arm();
      for (const player of this.#players) player();
    });
  }

  #remove(player: () => void): void {
    this.#players.delete(player);
    if (this.#players.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
