import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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
