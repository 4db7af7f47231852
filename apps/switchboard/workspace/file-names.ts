import { existsSync } from 'node:fs';
import { join } from 'node:path';

const ending = /\.(yaml|yml)$/;

/** What the entry of a file is called; undefined for examples, hidden files and what editors leave beside a file. */
export function entryIn(file: string): string | undefined {
  const isEntry = ending.test(file) && !/\.example\.\w+$/.test(file) && !file.startsWith('.');
  return isEntry ? file.replace(ending, '') : undefined;
}

/** The two ways to write the name of a file; where both stand, the first one counts. */
export function spellingsOf(file: string): [string, string] {
  const stem = file.replace(ending, '');
  return [`${stem}.yaml`, `${stem}.yml`];
}

/** The file as it is called below a directory, or as a new one would be. */
export function standingFile(directory: string, file: string): string {
  const [first, second] = spellingsOf(file);
  const stands = (name: string) => existsSync(join(directory, name));
  return !stands(first) && stands(second) ? second : first;
}

/** Whether a file stands there under both spellings of its name. */
export function standsTwice(directory: string, file: string): boolean {
  return spellingsOf(file).every((name) => existsSync(join(directory, name)));
}

/** Why the second of two such files is not used. */
export function twiceWords(file: string): string {
  const [first, second] = spellingsOf(file);
  return `${second} is not used, because ${first} holds the same entry; remove one of them`;
}
