// Loaded into the process under load before anything else: it tells its memory when asked by SIGUSR2.
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const memoryFile = process.env.SOAK_MEMORY_FILE ?? '';

if (isMainThread) process.on('SIGUSR2', tellMemory);

/** What stays after garbage is collected is what a leak would make grow. */
function tellMemory(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, rss } = process.memoryUsage();
  writeFileSync(`${memoryFile}.new`, JSON.stringify({ heapUsed, rss }));
  renameSync(`${memoryFile}.new`, memoryFile);
}
