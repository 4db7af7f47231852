import { readFile, stat } from 'node:fs/promises';
import { systemCode } from '@trunkline/std';
import type { z } from 'zod';
import { ConfigError } from '../config-error.ts';
import { parseYaml, type YamlOptions } from './parse.ts';

/** What a file yields: its value, and undefined too where it may be missing. */
export type YamlValue<Schema extends z.ZodType, Missing extends boolean> =
  | z.output<Schema>
  | (Missing extends true ? undefined : never);

/** With `allowMissing`, a file that is not there yields undefined instead of an error. */
export type LoadOptions<Missing extends boolean> = YamlOptions & { allowMissing?: Missing };

/** Reads a YAML file into the shape of the schema. */
export async function loadYaml<Schema extends z.ZodType, Missing extends boolean = false>(
  path: string,
  schema: Schema,
  options: LoadOptions<Missing> = {},
): Promise<YamlValue<Schema, Missing>> {
  const text = await readText(path);
  return valueOfText(text, path, schema, options);
}

/** The value of a file's text; undefined stands for a missing file. */
export function valueOfText<Schema extends z.ZodType, Missing extends boolean>(
  text: string | undefined,
  path: string,
  schema: Schema,
  { allowMissing, ...options }: LoadOptions<Missing>,
): YamlValue<Schema, Missing> {
  if (text !== undefined) return parseYaml(text, schema, { ...options, file: path });
  if (allowMissing) return undefined as YamlValue<Schema, Missing>;
  throw new ConfigError(`${path} cannot be used:`, [`${path}: there is no such file; create it`]);
}

/** The text of a file, or undefined when there is none. */
export async function readText(path: string): Promise<string | undefined> {
  const bytes = await readPlainFile(path).catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(
      `${path} cannot be read:`,
      [`${path}: ${READ_FAILURES[systemCode(cause) ?? ''] ?? String(cause)}`],
      { cause },
    );
  });
  return bytes && decode(bytes, path);
}

/** Reading a pipe, a socket or a device would wait for ever, and would keep the process from ending. */
export async function readPlainFile(path: string): Promise<Buffer> {
  const found = await stat(path);
  if (!found.isFile() && !found.isDirectory()) throw notPlain(path);
  return await readFile(path);
}

/** For what has the name of a file and is none. */
export function notPlain(path: string): ConfigError {
  return new ConfigError(`${path} is skipped:`, [
    `${path}: this is a pipe, a socket or a device; expected a file. Remove it`,
  ]);
}

export function isMissing(error: unknown): boolean {
  return systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR';
}

const READ_FAILURES: Record<string, string> = {
  EACCES: 'this user may not read it; change its permissions',
  EISDIR: 'this is a directory; expected a file',
};

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigError(`${path} cannot be used:`, [`${path}: this is no UTF-8 text; save it as UTF-8`], {
      cause,
    });
  }
}
