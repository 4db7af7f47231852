import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '@trunkline/std';
import type { Diagnosis } from './service.ts';

interface LockEntry {
  version?: string;
  integrity?: string;
  optional?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  peer?: boolean;
  /** A package of the repository itself. */
  link?: boolean;
  inBundle?: boolean;
}

interface Lock {
  packages: Record<string, LockEntry>;
}

const DAY_MS = 24 * 3_600_000;
const MAX_LOCK_DAYS = 180;
const MAX_NAMED = 5;

/**
 * Compares what is installed with the lock file, which is where updates and their fixes arrive: versions as the packages
 * themselves say them, hashes as npm recorded them at the installation. Asks nobody outside.
 */
export async function checkPackages(root: string): Promise<Diagnosis[]> {
  const subject = 'packages';
  const lockFile = join(root, 'package-lock.json');
  const wanted = await readJson<Lock>(lockFile);
  const recorded = await readJson<Lock>(join(root, 'node_modules/.package-lock.json'));
  if (wanted === undefined || recorded === undefined)
    return [{ subject, state: 'ok', words: 'installed without a lock file; nothing to compare with.' }];
  const kinds = await differences(root, wanted.packages, recorded.packages);
  // A file written in this very millisecond is younger than the clock says, and a clock may be set back.
  const ageMs = Math.max(0, Date.now() - (await stat(lockFile)).mtimeMs);
  const days = Math.floor(ageMs / DAY_MS);
  const age = `the lock file is ${days === 1 ? 'a day' : `${days} days`} old`;
  const found = Object.entries(kinds).filter(([, names]) => names.length > 0);
  const old = days < MAX_LOCK_DAYS ? [] : [`${age}, so that later fixes of dependencies are missing`];
  if (found.length === 0 && old.length === 0)
    return [{ subject, state: 'ok', words: `what is installed is what the lock file names; ${age}.` }];
  const words = [...found.map(([kind, names]) => `${kind}: ${listed(names)}`), ...old].join('; ');
  const advice = old.length > 0 ? 'Update Trunkline, then run "npm ci".' : 'Run "npm ci".';
  return [{ subject, state: 'warning', words: `${words}.`, advice }];
}

async function differences(
  root: string,
  wanted: Record<string, LockEntry>,
  recorded: Record<string, LockEntry>,
): Promise<Record<string, string[]>> {
  const kinds = {
    'other versions than in the lock file': [] as string[],
    'not in the lock file': [] as string[],
    'another content than the lock file says': [] as string[],
    'without a hash in the lock file': [] as string[],
    'not installed': [] as string[],
  };
  for (const [path, entry] of Object.entries(recorded)) {
    if (!path.includes('node_modules/') || entry.link) continue;
    const name = nameOf(path);
    const lock = wanted[path];
    if (lock === undefined) {
      kinds['not in the lock file'].push(name);
      continue;
    }
    // Changed by hand, the folder says another version than npm wrote down.
    const installed = (await readJson<{ version?: string }>(join(root, path, 'package.json')))?.version;
    if (installed === undefined) kinds['not installed'].push(name);
    else if (installed !== lock.version)
      kinds['other versions than in the lock file'].push(`${name} ${installed}, not ${lock.version}`);
    else if (lock.integrity === undefined && !lock.inBundle)
      kinds['without a hash in the lock file'].push(name);
    else if (lock.integrity !== entry.integrity) kinds['another content than the lock file says'].push(name);
  }
  for (const [path, { optional, dev, devOptional, peer, link }] of Object.entries(wanted))
    if (path.includes('node_modules/') && recorded[path] === undefined)
      if (!(optional || dev || devOptional || peer || link)) kinds['not installed'].push(nameOf(path));
  return kinds;
}

function nameOf(path: string): string {
  return path.replace(/^.*node_modules\//, '');
}

function listed(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return names.slice(0, MAX_NAMED).join(', ') + more;
}

async function readJson<Value>(path: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Value;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
