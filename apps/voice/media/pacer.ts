import type { Clock, Timer } from '@trunkline/schedule';

/** Sound leaves in packets of 20 ms. */
const tickMs = 20;
/** When timers have not run for so long, more comes in than the machine can deal with. */
const overloadMs = 1000;
/** Sound is sent so far ahead of its time: on a calm machine little, so that it can be cut off at once. */
const shortestLeadMs = 50;
const longestLeadMs = 150;
/** Of the longest wait for a beat so much is forgotten with every millisecond: a tenth of a second in twenty. */
const forgetting = 1 / 200;

export interface Player {
  /** Sends what has come due. */
  advance(): void;
  /** Takes nothing in until the event loop is free again. */
  rest(): void;
}

/** One beat for all lines, so that many of them do not crowd the event loop. */
export class Pacer {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #onOverload: () => void;
  readonly #players = new Set<Player>();
  #timer: Timer | undefined;
  #beatAt = 0;
  #timerAt = 0;
  /** The longest wait for a beat lately. */
  #longestWaitMs = 0;

  /** `now` never jumps. */
  constructor({ clock, now, onOverload }: { clock: Clock; now: () => number; onOverload: () => void }) {
    this.#clock = clock;
    this.#now = now;
    this.#onOverload = onOverload;
  }

  /** Far enough that the next beat comes in time, if the machine keeps it waiting as it did lately. */
  get leadMs(): number {
    return Math.min(Math.max(this.#longestWaitMs + tickMs, shortestLeadMs), longestLeadMs);
  }

  /** Advances the player about every 20 ms; gives the way to stop that. */
  add(player: Player): () => void {
    this.#players.add(player);
    if (this.#timer === undefined) this.#begin();
    return () => this.#remove(player);
  }

  /**
   * Called whenever sound comes in. The library hands over all that has come before it lets a timer run, and on a busy
   * machine there always is more: then this keeps the beat, and in the end stops what comes, as nothing else would ever run.
   */
  nudge(): void {
    const now = this.#now();
    if (now - this.#beatAt >= tickMs) this.#beat(now);
    if (this.#timer !== undefined && now - this.#timerAt > overloadMs) this.#relieve(now);
  }

  #begin(): void {
    this.#timer = this.#arm();
    this.#beatAt = this.#timerAt;
  }

  #arm(): Timer {
    this.#timerAt = this.#now();
    return this.#clock.setTimer(tickMs, () => {
      this.#timer = this.#arm();
      this.#beat(this.#timerAt);
    });
  }

  #beat(now: number): void {
    const waitedMs = now - this.#beatAt;
    this.#longestWaitMs = Math.max(waitedMs, this.#longestWaitMs - waitedMs * forgetting);
    this.#beatAt = now;
    for (const player of this.#players) player.advance();
  }

  #relieve(now: number): void {
    this.#timerAt = now;
    this.#onOverload();
    for (const player of this.#players) player.rest();
  }

  #remove(player: Player): void {
    this.#players.delete(player);
    if (this.#players.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
