import type { Clock, Timer } from '@trunkline/schedule';

/** Sound leaves in packets of 20 ms. */
const tickMs = 20;

/** One beat for all lines, so that many of them do not crowd the event loop. */
export class Pacer {
  readonly #clock: Clock;
  readonly #players = new Set<() => void>();
  #timer: Timer | undefined;
  #lastMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls the player about every 20 ms; gives the way to stop that. */
  add(player: () => void): () => void {
    this.#players.add(player);
    this.#timer ??= this.#arm();
    return () => this.#remove(player);
  }

  /**
   * Called whenever sound comes in. The library hands over all that has come before it lets a timer run, and on a busy
   * machine there always is more: then this keeps the beat.
   */
  nudge(): void {
    if (performance.now() - this.#lastMs >= tickMs) this.#beat();
  }

  #arm(): Timer {
    return this.#clock.setTimer(tickMs, () => {
      this.#timer = this.#arm();
      this.#beat();
    });
  }

  #beat(): void {
    this.#lastMs = performance.now();
    for (const player of this.#players) player();
  }

  #remove(player: () => void): void {
    this.#players.delete(player);
    if (this.#players.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
