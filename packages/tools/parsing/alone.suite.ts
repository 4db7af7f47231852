// Runs in a thread: answers with how many threads are at work, this one among them.
import { setTimeout as sleep } from 'node:timers/promises';
import { serveParser } from './parser-thread.ts';

serveParser(async ({ atWork, slow }: { atWork: Int32Array; slow: boolean }, signal) => {
  const count = Atomics.add(atWork, 0, 1) + 1;
  // As native code does: it does not end at once when nobody waits for it.
  if (slow) {
    while (!signal.aborted) await sleep(5);
    await sleep(500);
  }
  Atomics.sub(atWork, 0, 1);
  return count;
});
