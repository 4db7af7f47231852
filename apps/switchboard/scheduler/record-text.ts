import { parseYaml } from '@trunkline/config';
import { parseDocument, stringify } from 'yaml';
import { recordSchema, type ScheduleRecord } from './record.ts';

/** Reads the text of `crons/<id>.yaml`; throws with line and words when it cannot be used. */
export function readRecord(text: string, file: string): ScheduleRecord {
  return parseYaml(text, recordSchema, { file, expand: false });
}

/** The text of a record that no hand has written. */
export function recordText(record: ScheduleRecord): string {
  return stringify(JSON.parse(JSON.stringify(record)));
}

/** Sets one field at the top of a file and leaves everything else as it was written, comments included. */
export function withField(text: string, name: 'lastFired' | 'enabled', value: string | boolean): string {
  const line = `${name}: ${value}`;
  const known = new RegExp(`^${name}:[^\\n\\r]*`, 'm');
  if (!isPlainMapping(text)) return inDocument(text, name, value);
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
