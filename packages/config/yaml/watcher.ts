import { dirname, resolve, sep } from 'node:path';
import { toError } from '@trunkline/std';
import { watch } from 'chokidar';

export type Watcher = { close(): Promise<void> };

/** Tells of everything that happens at a path, or directly inside it when it is a directory; it may be missing still. */
export async function openWatcher(
  path: string,
  onEvent: (changed: string) => void,
  onError: (error: Error) => void,
): Promise<Watcher> {
  const root = resolve(path);
  // Whether a file is whole is decided by reading it, so every event is wanted, at once.
  const watcher = watch(root, {
    ignoreInitial: true,
    atomic: false,
    ignored: (other, stats) =>
      !concerns(root, other) || (stats?.isDirectory() === true && isInside(root, other)),
  });
  watcher.on('all', (_, changed) => onEvent(changed));
  watcher.on('error', (error) => onError(toError(error)));
  await new Promise<void>((ready) => {
    watcher.once('ready', ready);
    watcher.once('error', () => ready());
  });
  return { close: () => watcher.close() };
}

// The path itself, what lies directly inside it, and the directories above it, which show when it is created.
function concerns(root: string, path: string): boolean {
  return path === root || isInside(root, path) || root.startsWith(path.endsWith(sep) ? path : path + sep);
}

// A directory there is left out with all it holds, which may be a hundred thousand files that would be looked at one by one.
function isInside(root: string, path: string): boolean {
  return dirname(path) === root;
}
