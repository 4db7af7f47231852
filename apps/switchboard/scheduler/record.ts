import { createHash } from 'node:crypto';
import { matchesTopic, unescapeSegment } from '@trunkline/bus';
import { parseYaml } from '@trunkline/config';
import { type Job, parseSchedule, type Schedule } from '@trunkline/schedule';
import { parse, parseDocument } from 'yaml';
import type { ScheduleView } from '../api-types.ts';
import { type ChangeNote, type ControlPlane, ControlPlaneError } from '../control/control-plane.ts';
import { type CronRecord, cronSchema } from '../workspace/schema/cron.ts';

const mostAttempts = 3;

export interface Entry {
  record: CronRecord;
  type: Schedule['type'];
  /** Earlier times do not count as missed. */
  since: number;
}

export interface ScheduleJob extends Job {
  record: CronRecord;
  type: Schedule['type'];
}

/** Throws when valid fields do not work together. */
function checkRecord({ topic, payload }: CronRecord): void {
  if (payload.channel !== 'a2a' || matchesTopic('cron.#', topic)) return;
  // Topics under `cron.` are journalled, so that a delivery continues after a restart.
  throw new Error(
    `The topic ${topic} does not fit the channel a2a: let it begin with cron., such as cron.<agent_name>.<job>.`,
  );
}

export function scheduleOf({ schedule, timezone }: CronRecord): Schedule {
  return parseSchedule(schedule, timezone === undefined ? {} : { timezone });
}

export function jobOf(entry: Entry, noted: number | undefined): ScheduleJob {
  const { record, type, since } = entry;
  const { id, schedule, timezone, enabled, overlap, jitterMs } = record;
  const known = lastFiredOf(entry, noted);
  return {
    id,
    record,
    type,
    schedule,
    overlap,
    jitterMs,
    paused: !enabled,
    createdAt: since,
    ...(timezone !== undefined && { timezone }),
    ...(known !== undefined && { lastFired: known }),
  };
}

/** The newer of file and ledger. */
function lastFiredOf({ record }: Entry, noted: number | undefined): number | undefined {
  const written = record.lastFired === undefined ? undefined : Date.parse(record.lastFired);
  return written === undefined || noted === undefined ? (written ?? noted) : Math.max(written, noted);
}

export function viewOf(
  entry: Entry,
  lastFired: number | undefined,
  now: number,
  count: number,
): ScheduleView {
  const { record } = entry;
  const schedule = scheduleOf(record);
  const next = schedule.preview(count, now).map(iso);
  const fired = lastFiredOf(entry, lastFired);
  return {
    ...record,
    type: schedule.type,
    timezone: schedule.timezone,
    state: record.enabled ? 'active' : 'paused',
    lastFired: fired === undefined ? null : iso(fired),
    nextFire: record.enabled ? (next[0] ?? null) : null,
    next,
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

/** The recorded owner, else the agent of the topic `cron.<agent>.<job>`; null: only the operator. */
export function ownerOf({ owner, topic }: Pick<CronRecord, 'owner' | 'topic'>): string | null {
  if (owner !== undefined) return owner;
  const [prefix, agent, job] = topic.split('.');
  return prefix === 'cron' && agent !== undefined && job !== undefined ? unescapeSegment(agent) : null;
}

/** Throws with line and reason when the text is not valid. */
export function readRecord(text: string, path: string, id: string): CronRecord {
  const record = readPlainly(text) ?? readWhole(text, path);
  checkRecord(record);
  if (record.id === id) return record;
  throw new Error(`${path}: its id is ${record.id}; call the file ${record.id}.yaml, or change the id`);
}

/** The same for records that differ in `lastFired` alone. */
export function digestOf({ lastFired: _, ...record }: CronRecord): string {
  return createHash('sha256').update(JSON.stringify(record)).digest('hex');
}

/** Parses without line positions, which is much faster; undefined for an invalid record. */
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

/** YAML has numbers that JSON, and so a message, does not. */
function jsonOf<Value>(value: Value): Value {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as Value);
}

/** Sets one top-level field and leaves all else, comments included. */
export function withField(text: string, name: 'lastFired' | 'enabled', value: string | boolean): string {
  if (!isPlainMapping(text)) return inDocument(text, name, value);
  const line = `${name}: ${value}`;
  const known = new RegExp(`^${name}:[^\\n\\r]*`, 'm');
  if (known.test(text)) return text.replace(known, line);
  return `${text}${text.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** A mapping with one key a line, which can be edited as text. */
function isPlainMapping(text: string): boolean {
  return (
    /^(?:[^\S\n]*(?:#[^\n]*)?\n)*[a-zA-Z]+:/.test(text) && !/^(---|\.\.\.|[{}%&*!])|\t|: *[|>&]/m.test(text)
  );
}

function inDocument(text: string, name: string, value: string | boolean): string {
  const document = parseDocument(text);
  document.set(name, value);
  return document.toString();
}

const line = /^( {2})?([a-zA-Z][a-zA-Z0-9_]*):(?: (.*))?$/;

const startsPlain = /^[a-zA-Z0-9/(\u00c0-\u02ff]/;

/** Not printable, or the start of a comment or an inline mapping. */
const holdsOther = /[^\x20-\x7e\u00a1-\u02ff]|: | #|[: ]$/;

const looksTyped = /^(?:[-+.0-9][0-9a-zA-Z.+_-]*|null|true|false)$/i;

const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;

/** A scalar that means what it looks like. */
type Plain = string | number | boolean;

type PlainMap = Record<string, Plain | Record<string, Plain>>;

/**
 * Reads the YAML that programs write: one key a line, at most one nested map; undefined for other texts, which the yaml
 * package reads. A first start with 10,000 schedules takes the main thread 3.4 s without it and 0.9 s with it (thread
 * CPU, Node 24).
 */
export function readPlainYaml(text: string): PlainMap | undefined {
  const map: PlainMap = {};
  let inner: Record<string, Plain> | undefined;
  for (const row of text.split('\n')) {
    if (row === '') continue;
    const [found, indent, key = '', written] = line.exec(row) ?? [];
    if (found === undefined || looksTyped.test(key)) return undefined;
    const place = indent === undefined ? map : inner;
    if (place === undefined || Object.hasOwn(place, key)) return undefined;
    if (indent === undefined && isEmpty(inner)) return undefined;
    if (written === undefined) {
      if (indent !== undefined) return undefined;
      inner = {};
      map[key] = inner;
      continue;
    }
    const value = readScalar(written);
    if (value === undefined) return undefined;
    place[key] = value;
    if (indent === undefined) inner = undefined;
  }
  return isEmpty(inner) || isEmpty(map) ? undefined : map;
}

function readScalar(written: string): Plain | undefined {
  const quoted = /^(?:"([^"\\]*)"|'([^']*)')$/.exec(written);
  if (quoted !== null) return readQuoted(quoted[1] ?? quoted[2] ?? '');
  if (!startsPlain.test(written) || holdsOther.test(written)) return undefined;
  if (!looksTyped.test(written)) return written;
  if (wholeNumber.test(written)) return Number(written);
  return written === 'true' || written === 'false' ? written === 'true' : undefined;
}

function readQuoted(text: string): string | undefined {
  return /[^\x20-\x7e\u00a1-\u02ff]/.test(text) ? undefined : text;
}

function isEmpty(map: object | undefined): boolean {
  return map !== undefined && Object.keys(map).length === 0;
}

interface RecordFiles {
  get(id: string): Entry | undefined;
  text(id: string): string | undefined;
  refresh(id: string): void;
}

/** Edits a record; retries when it was edited by hand meanwhile. Returns whether it exists. */
export async function editRecord(
  { folder, controlPlane }: { folder: RecordFiles; controlPlane: ControlPlane },
  id: string,
  change: (text: string) => string,
  note: ChangeNote,
): Promise<boolean> {
  return await retryOvertaken(async () => {
    const from = folder.get(id) && folder.text(id);
    if (from === undefined) return false;
    await controlPlane.editText('cron', id, { from, to: change(from) }, note);
    folder.refresh(id);
    return true;
  });
}

/** Tries again when the file was edited by hand between the look at it and the change. */
export async function retryOvertaken<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      const isOvertaken = error instanceof ControlPlaneError && error.code === 'change_overtaken';
      if (!isOvertaken || attempt === mostAttempts) throw error;
    }
  }
}
