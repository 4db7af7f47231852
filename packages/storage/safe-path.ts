import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { systemCode } from '@trunkline/std';
import { StorageError } from './errors.ts';

const longest = 200;

/**
 * One plain file name for any text (a session id, a title), the same text always giving the same name and two texts never one.
 * Letters, digits, `_`, `-` and inner dots stay; everything else is percent-encoded.
 */
export function safeFileName(text: string): string {
  if (text === '') throw new StorageError('name_refused', 'An empty text cannot name a file.');
  const encoded = [...new TextEncoder().encode(text)].map(encodeByte).join('').replace(/^\./, '%2E');
  if (encoded.length <= longest && text.isWellFormed()) return encoded;
  // Halves of characters all look alike in UTF-8.
  const exact = text.isWellFormed() ? text : Buffer.from(text, 'utf16le');
  const digest = createHash('sha256').update(exact).digest('hex');
  return `${encoded.slice(0, longest - digest.length - 1)}~${digest}`;
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9_.-]/.test(character)
    ? character
    : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

/**
 * The real path of `name` under `root`, links followed; refuses what would leave it.
 * The file itself need not exist. Use the path at once: a link placed later is not seen.
 */
export function resolveInside(root: string, name: string): string {
  const problem = problemOf(name);
  if (problem !== undefined) throw refuse(name, problem);
  const base = realRoot(root);
  const lexical = resolve(base, name);
  if (!isInside(base, lexical)) throw refuse(name, 'it leads out of its directory');
  return followLinks(base, relative(base, lexical), name);
}

function problemOf(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name.includes('\0')) return 'it holds a NUL character';
  if (isAbsolute(name) || /^([A-Za-z]:|[\\/])/.test(name)) return 'it is an absolute path';
  if (/(^|[\\/])\.\.([\\]|$)/.test(name) && name.includes('\\')) return 'it leads out of its directory';
  return undefined;
}

function realRoot(root: string): string {
  try {
    return realpathSync(root);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return resolve(root);
    throw error;
  }
}

/** Walks part by part, so that a link which points nowhere yet is refused too: writing there would create its target. */
function followLinks(base: string, path: string, name: string): string {
  let current = base;
  for (const part of path.split(sep)) {
    current = join(current, part);
    if (!isLink(current)) continue;
    current = linkTarget(current, name);
    if (!isInside(base, current)) throw refuse(name, 'a link in it leads out of its directory');
  }
  return current;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function linkTarget(path: string, name: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw refuse(name, 'a link in it points nowhere', error);
  }
}

function isInside(base: string, path: string): boolean {
  const way = relative(base, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function refuse(name: string, problem: string, cause?: unknown): StorageError {
  const words = `The name ${JSON.stringify(name)} is refused: ${problem}.`;
  return new StorageError('name_refused', words, cause === undefined ? undefined : { cause });
}
