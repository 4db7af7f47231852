import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Disk {
  /** Why the disk cannot be filled here; undefined where it can. */
  leftOut: string | undefined;
  /** Leaves no byte free. */
  fill(): void;
  free(): void;
  unmount(): void;
}

/** Puts a small disk of its own under the directory, so that filling it hurts nobody else. */
export function mountSmallDisk(directory: string, megabytes: number): Disk {
  const filler = join(directory, 'filler');
  const free = () => rmSync(filler, { force: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], { stdio: 'pipe' });
  } catch (error) {
    const leftOut = `no small disk could be mounted (it takes root): ${firstLine(error)}`;
    return { leftOut, fill: () => undefined, free, unmount: () => undefined };
  }
  return {
    leftOut: undefined,
    fill: () => writeUntilFull(filler),
    free,
    // Lazily, so that a file that somebody still reads does not keep the run from ending.
    unmount: () => void execFileSync('umount', ['-l', directory]),
  };
}

function writeUntilFull(path: string): void {
  const file = openSync(path, 'w');
  for (const size of [1_048_576, 4096]) while (isWritten(file, size));
  closeSync(file);
}

function isWritten(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n').at(-1) ?? '';
}
