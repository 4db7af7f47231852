import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const WHOLE = /^[\w-]{43}$/;

/**
 * The secret in a file of the home, readable for its owner only. Created when it is missing or damaged; of two
 * processes that create it at once, both end up with the same.
 */
export function readOrCreateSecret(home: string, name: string): string {
  const path = join(home, name);
  const known = readSecret(path);
  if (known !== undefined) return known;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const secret = randomBytes(32).toString('base64url');
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  try {
    return publish(draft, path) ?? secret;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Puts the draft in place; gives the secret of a process that was faster. */
function publish(draft: string, path: string): string | undefined {
  try {
    linkSync(draft, path);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const known = readSecret(path);
  if (known === undefined) renameSync(draft, path);
  return known;
}

/** Undefined where there is none, or none that is whole. */
export function readSecret(path: string): string | undefined {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (!WHOLE.test(secret)) return undefined;
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
