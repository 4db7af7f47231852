import { type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve, sep } from 'node:path';
import { systemCode } from '../system-error.ts';
import { makeOption, type Option, type Reading, type Settings } from './option.ts';

type Presence = { mustExist?: boolean };

/** A directory, as an absolute path. It may be missing still, but must be no file. */
export function directory<Default extends string | undefined = undefined>(
  settings: Settings<Default> & Presence,
): Option<string | Default> {
  return pathOption(settings, 'directory', (found) => found.isDirectory());
}

/** A file, as an absolute path. It may be missing still, but must be no directory. */
export function file<Default extends string | undefined = undefined>(
  settings: Settings<Default> & Presence,
): Option<string | Default> {
  return pathOption(settings, 'file', (found) => !found.isDirectory());
}

function pathOption<Default extends string | undefined>(
  settings: Settings<Default> & Presence,
  noun: 'directory' | 'file',
  isRight: (found: Stats) => boolean,
): Option<string | Default> {
  const expected = settings.mustExist ? `the path of a ${noun} that exists` : `the path of a ${noun}`;
  const read = (given: string): Reading<string> => {
    const path = absolutePath(given);
    const found = look(path);
    if (found === 'missing') return settings.mustExist ? { expected } : { value: path };
    return found === 'unknown' || isRight(found) ? { value: path } : { expected };
  };
  return makeOption(settings, { expected, placeholder: 'PATH', read, write: withTilde });
}

function absolutePath(given: string): string {
  return resolve(given === '~' || given.startsWith('~/') ? homedir() + given.slice(1) : given);
}

// Keeps the name of this machine's user out of help and generated pages.
function withTilde(path: string): string {
  return path === homedir() || path.startsWith(homedir() + sep) ? `~${path.slice(homedir().length)}` : path;
}

function look(path: string): Stats | 'missing' | 'unknown' {
  try {
    return statSync(path);
  } catch (error) {
    // What may not be looked at is left to the one who opens it.
    return systemCode(error) === 'ENOENT' ? 'missing' : 'unknown';
  }
}
