// Loaded into a process before anything else: its wall clock is ahead by what a file says, and follows the file.
// Timers and SQLite's own clock stay as they are, as they do when a real clock is set.
import { readFileSync } from 'node:fs';

const clockFile = process.env.MOVED_CLOCK_FILE ?? '';
const lookEveryMs = 100;

const RealDate = Date;
let aheadMs = readAhead();
setInterval(() => {
  aheadMs = readAhead();
}, lookEveryMs).unref();
const now = () => RealDate.now() + aheadMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
  apply: (target) => new target(now()).toString(),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});

function readAhead(): number {
  return Number(readFileSync(clockFile, 'utf8'));
}
