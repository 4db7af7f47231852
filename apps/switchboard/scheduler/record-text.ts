import { parseYaml } from '@trunkline/config';
import { parse, parseDocument } from 'yaml';
import { type CronRecord, cronSchema } from '../workspace/schema/cron.ts';
import { checkRecord } from './record.ts';

/** Reads the text of `crons/<id>.yaml`; throws with line and words when it cannot be used. */
export function readRecord(text: string, path: string, id: string): CronRecord {
  const record = readQuickly(text) ?? parseYaml(text, cronSchema, { file: path, expand: false });
  checkRecord(record);
  if (record.id === id) return record;
  throw new Error(`${path}: its id is ${record.id}; call the file ${record.id}.yaml, or change the id`);
}

/** A record that is right needs no places of its words, which take three times as long; undefined for any other. */
function readQuickly(text: string): CronRecord | undefined {
  try {
    return cronSchema.safeParse(parse(text, { logLevel: 'silent' })).data;
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/** Sets one field at the top of a file and leaves everything else as it was written, comments included. */
export function withField(text: string, name: 'lastFired' | 'enabled', value: string | boolean): string {
  if (!isPlainMapping(text)) return inDocument(text, name, value);
  const line = `${name}: ${value}`;
  const known = new RegExp(`^${name}:[^\\n\\r]*`, 'm');
  if (known.test(text)) return text.replace(known, line);
  return `${text}${text.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** A mapping with a key a line, where a line can be replaced or added without reading the rest. */
function isPlainMapping(text: string): boolean {
  return /^(\s*(#[^\n]*)?\n)*[a-zA-Z]+:/.test(text) && !/^(---|\.\.\.|[{}%&*!])|\t|: *[|>&]/m.test(text);
}

function inDocument(text: string, name: string, value: string | boolean): string {
  const document = parseDocument(text);
  document.set(name, value);
  return document.toString();
}
