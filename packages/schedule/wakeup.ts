import { type Due, DueHeap } from './entry.ts';

/** Node fires at once when a delay does not fit into 31 bits. */
const longestDelay = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (delayMs, run) => (delayMs <= 0 ? nextTurn(run) : delayed(delayMs, run)),
};

/**
 * The wall clock is looked at again after this long at the latest. Timers run on a steady clock that stops while the machine sleeps
 * and knows nothing of a corrected wall clock: so a jump is noticed half a minute later, and no delay outgrows 31 bits.
 */
const longestSleep = 30_000;
/** Items taken in one go; the event loop gets its turn in between. */
const batch = 1000;
/** A clock that goes back further was wrong before: what was planned by it may lie years ahead. */
const longestStepBack = 86_400_000;

interface SetTimer {
  handle: Timer;
  wakesAt: number;
  /** Set without a delay. */
  isNow: boolean;
}

/** Hands over each item when it is due, on one timer for all of them. */
export class Wakeup<Item extends Due> {
  readonly #clock: Clock;
  readonly #onDue: (item: Item, now: number) => void;
  readonly #onSetBack: () => void;
  readonly #heap = new DueHeap<Item>();
  #started = false;
  #timer: SetTimer | undefined;
  /** The wall clock when it was looked at last. */
  #seen = 0;

  /** `onDue` must place the item at a later time or remove it; `onSetBack` places all items again, as the clock was far ahead. */
  constructor(clock: Clock, onDue: (item: Item, now: number) => void, onSetBack: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#onSetBack = onSetBack;
  }

  start(): void {
    this.#started = true;
    this.#arm();
  }

  stop(): void {
    this.#started = false;
    this.#disarm();
  }

  place(item: Item): void {
    this.#heap.place(item);
    this.#arm();
  }

  remove(item: Item): void {
    this.#heap.remove(item);
  }

  /** True when the item is due for longer than an undisturbed clock would let it be. */
  isLate(item: Item, now: number): boolean {
    return now - item.dueAt > longestSleep;
  }

  /** Sets the timer for the first item, unless it is set for that or an earlier time that is still to come. */
  #arm(): void {
    const first = this.#heap.peek();
    if (!this.#started || first === undefined) return;
    const now = this.#clock.now();
    const wakesAt = Math.min(Math.max(first.dueAt, now), now + longestSleep);
    if (this.#timer !== undefined && isEarlyEnough(this.#timer, wakesAt, now)) return;
    this.#disarm();
    this.#seen = Math.max(this.#seen, now);
    const handle = this.#clock.setTimer(wakesAt - now, () => this.#wake());
    this.#timer = { handle, wakesAt, isNow: wakesAt === now };
  }

  #disarm(): void {
    this.#timer?.handle.cancel();
    this.#timer = undefined;
  }

  #wake(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    const isSetBack = now < this.#seen - longestStepBack;
    this.#seen = now;
    if (isSetBack) this.#onSetBack();
    for (let count = 0; count < batch; count += 1) {
      const first = this.#heap.peek();
      if (first === undefined || first.dueAt > now) break;
      this.#onDue(first, now);
    }
    this.#arm();
  }
}

/** A timer whose time has passed without a wake belongs to a clock that was put forward since. */
function isEarlyEnough(timer: SetTimer, wakesAt: number, now: number): boolean {
  return timer.isNow || (timer.wakesAt > now && timer.wakesAt <= wakesAt);
}

export interface Timer {
  cancel(): void;
}

/** Where time comes from. Tests pass one that they move by hand. */
export interface Clock {
  /** The wall clock in milliseconds; it may jump either way. */
  now(): number;
  /** Runs once after that many milliseconds, however many. */
  setTimer(delayMs: number, run: () => void): Timer;
}

/** A timer of zero would sleep for a millisecond or more; this lets the event loop turn once and goes on. */
function nextTurn(run: () => void): Timer {
  const handle = setImmediate(run);
  return { cancel: () => clearImmediate(handle) };
}

function delayed(delayMs: number, run: () => void): Timer {
  let handle: NodeJS.Timeout;
  const wait = (left: number): void => {
    const step = Math.min(left, longestDelay);
    handle = setTimeout(() => (step < left ? wait(left - step) : run()), step);
  };
  wait(delayMs);
  return { cancel: () => clearTimeout(handle) };
}
