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

/** Node fires at once when a delay does not fit into 31 bits. */
const longestDelay = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (delayMs, run) => (delayMs <= 0 ? nextTurn(run) : delayed(delayMs, run)),
};

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
