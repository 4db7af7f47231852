import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface FakeTimer {
  /** On the steady clock, which never jumps. */
  due: number;
  order: number;
  run: () => void;
}

/** A clock that stands still until the test moves it. Fits every port with `now` and `setTimer`. */
export class FakeClock {
  #steady = 0;
  #wallAhead: number;
  #order = 0;
  readonly #timers = new Set<FakeTimer>();

  constructor(start: number | string) {
    this.#wallAhead = typeof start === 'string' ? Date.parse(start) : start;
  }

  readonly now = (): number => this.#steady + this.#wallAhead;

  readonly setTimer = (delayMs: number, run: () => void): { cancel(): void } => {
    this.#order += 1;
    const timer = { due: this.#steady + Math.max(0, delayMs), order: this.#order, run };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  };

  /** How many timers are set at the moment. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Lets time pass: runs the timers that come due in their order, and after each the work it started. */
  async advanceBy(ms: number): Promise<void> {
    const end = this.#steady + ms;
    await settle();
    for (let timer = this.#firstDue(end); timer !== undefined; timer = this.#firstDue(end)) {
      this.#steady = Math.max(this.#steady, timer.due);
      this.#timers.delete(timer);
      timer.run();
      await settle();
    }
    this.#steady = end;
  }

  /** Lets time pass until the wall clock shows that time. */
  async advanceTo(time: number | string): Promise<void> {
    const wall = typeof time === 'string' ? Date.parse(time) : time;
    const ms = wall - this.now();
    if (!(ms >= 0))
      throw new RangeError(
        `The clock cannot be advanced to ${time}: it shows ${new Date(this.now()).toISOString()}`,
      );
    await this.advanceBy(ms);
  }

  /** Sets the wall clock forward or back while no time passes for timers, as a corrected clock or a sleeping machine does. */
  jumpBy(ms: number): void {
    this.#wallAhead += ms;
  }

  #firstDue(end: number): FakeTimer | undefined {
    let first: FakeTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || isBefore(timer, first))) first = timer;
    }
    return first;
  }
}

function isBefore(one: FakeTimer, other: FakeTimer): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}

/** Promise chains of any length end before the next turn of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The wall clock of child processes, which can be set while they run. */
export interface MovableClock {
  /** What a child is started with. */
  nodeFlags: string[];
  environment: Record<string, string>;
  /** What the clock shows. */
  now(): number;
  /** Sets it; a process that runs sees it within a tenth of a second, its timers not at all. */
  set(time: number | string): void;
  moveBy(ms: number): void;
}

/** Kept in a file of that directory; right until it is set. */
export function movableClock(directory: string): MovableClock {
  const file = join(directory, 'clock');
  let aheadMs = 0;
  const move = (ms: number) => {
    aheadMs = ms;
    writeFileSync(`${file}.new`, String(ms));
    renameSync(`${file}.new`, file);
  };
  const now = () => Date.now() + aheadMs;
  move(0);
  return {
    nodeFlags: ['--import', join(import.meta.dirname, 'moved-clock.ts')],
    environment: { MOVED_CLOCK_FILE: file },
    now,
    set: (time) => move((typeof time === 'string' ? Date.parse(time) : time) - Date.now()),
    moveBy: (ms) => move(aheadMs + ms),
  };
}
