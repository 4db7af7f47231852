import { readFile } from 'node:fs/promises';
import type { Environment } from '@trunkline/config';
import { isMissingFile } from '../store/files.ts';
import type { RosterSource } from './roster-source.ts';

/** The roster in a file; `${VAR}` in it stands for a variable. */
export function createFileSource(path: string, env: Environment): RosterSource {
  return {
    origin: 'file',
    name: path,
    async read() {
      try {
        return { text: await readFile(path, 'utf8'), file: path, expand: true, env };
      } catch (error) {
        if (isMissingFile(error)) return undefined;
        throw error;
      }
    },
  };
}
