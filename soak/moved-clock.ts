// Loaded into the process under load before anything else: its wall clock is ahead by what a file says,
// and it tells its memory when asked by SIGUSR2. Timers and SQLite's own clock stay as they are.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const clockFile = process.env.SOAK_CLOCK_FILE ?? '';
const memoryFile = process.env.SOAK_MEMORY_FILE ?? '';
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

if (isMainThread) process.on('SIGUSR2', tellMemory);

function readAhead(): number {
  return Number(readFileSync(clockFile, 'utf8'));
}

/** What stays after garbage is collected is what a leak would make grow. */
function tellMemory(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, rss } = process.memoryUsage();
  writeFileSync(`${memoryFile}.new`, JSON.stringify({ heapUsed, rss }));
  renameSync(`${memoryFile}.new`, memoryFile);
}
