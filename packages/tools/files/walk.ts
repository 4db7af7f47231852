import { posix } from 'node:path';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST_FILES = 20_000;
const UNVISITED = new Set(['.git', 'node_modules']);

/** Paths of the files below a directory, in order; links are not followed. */
export async function* walkFiles(
  sandbox: WorkspaceSandbox,
  directory: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const waiting = [directory === '' ? '.' : directory];
  let count = 0;
  for (let current = waiting.shift(); current !== undefined; current = waiting.shift()) {
    signal.throwIfAborted();
    for (const entry of await sandbox.list(current)) {
      const path = posix.join(current, entry.name);
      if (entry.isDirectory() && !UNVISITED.has(entry.name)) waiting.push(path);
      if (!entry.isFile()) continue;
      count += 1;
      if (count > MOST_FILES) return;
      yield path;
    }
  }
}
