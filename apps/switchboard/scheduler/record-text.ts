import { parseYaml } from '@trunkline/config';
import { parse, parseDocument } from 'yaml';
import { type CronRecord, cronSchema } from '../workspace/schema/cron.ts';
import { readPlainYaml } from './plain-yaml.ts';
import { checkRecord } from './record.ts';

/** Reads the text of `crons/<id>.yaml`; throws with line and words when it cannot be used. */
export function readRecord(text: string, path: string, id: string): CronRecord {
  const record = readPlainly(text) ?? readWhole(text, path);
  checkRecord(record);
  if (record.id === id) return record;
  throw new Error(`${path}: its id is ${record.id}; call the file ${record.id}.yaml, or change the id`);
}

/** A record that is right needs no places of its words, which take much longer; undefined for any other. */
function readPlainly(text: string): CronRecord | undefined {
  return cronSchema.safeParse(readPlainYaml(text) ?? parsed(text)).data;
}

function parsed(text: string): unknown {
  try {
    return jsonOf(parse(text, { logLevel: 'silent' }));
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function readWhole(text: string, path: string): CronRecord {
  return jsonOf(parseYaml(text, cronSchema, { file: path, expand: false }));
}

/** As a message can carry it: YAML knows numbers that JSON does not. */
function jsonOf<Value>(value: Value): Value {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as Value);
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
