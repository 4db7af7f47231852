import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';

const ATTEMPTS = 20;

/** A directory beside the target that no other process uses. */
export function temporarySibling(target: string): string {
  mkdirSync(dirname(target), { recursive: true });
  return `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
}

/** Puts a finished directory in the target's place; of several processes that do so at once, each leaves a whole one. */
export function replaceDirectory(finished: string, target: string): void {
  for (let attempt = 1; ; attempt += 1) {
    discard(target);
    try {
      renameSync(finished, target);
      return;
    } catch (error) {
      // Another process put its own there in between: take that away and try again.
      if (!isOccupied(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

// Renaming first keeps a reader from meeting a half-removed directory.
function discard(target: string): void {
  const old = temporarySibling(target);
  try {
    renameSync(target, old);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

function isOccupied(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
