import { appendFileSync, closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { redact } from '@trunkline/config';
import { ownerKey } from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import { ifExists } from '@trunkline/storage';
import type { ObserveTurn } from '../turns/turn-runner.ts';

const chunkBytes = 64 * 1024;

/** One page looks through this much at most, so that a filter which fits nothing ends too. */
const maxBytes = 8 * 1024 * 1024;

const maxOpenCalls = 10_000;

/** One call of a tool, as it is to be remembered. */
export interface AuditEntry {
  sessionId: string;
  tool: string;
  args: unknown;
  result: string;
  durationMs: number;
  success: boolean;
  traceId?: string | undefined;
  /** For whom it was called, as `ownerKey` says. */
  owner?: string | undefined;
}

export interface AuditLogOptions {
  path: string;
  /** Values that never reach the log, wherever they occur. */
  secrets?: Iterable<string>;
  now?: () => Date;
  /** Size at which the file is rotated; one older file stays beside it. */
  rotateBytes?: number;
  logger: { error(fields: object, message: string): void };
}

const ROTATE_BYTES = 50 * 1024 * 1024;
const MAX_VALUE_LENGTH = 500;
const MAX_RESULT_LENGTH = 200;

/** Every tool call as a line of JSON, without secrets. Writing must not fail a turn, so a failure is only logged. */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #secrets: readonly string[];
  #size: number | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#secrets = [...(options.secrets ?? [])];
  }

  record(entry: AuditEntry): void {
    try {
      this.#append(`${JSON.stringify(this.#lineOf(entry))}\n`);
    } catch (error) {
      this.#size = undefined;
      this.#options.logger.error({ err: error }, 'failed to write the audit log');
    }
  }

  /** The newest first. */
  read(filter: AuditFilter, limit: number, cursor?: string): Promise<AuditPage> {
    return readAudit(this.#options.path, filter, limit, cursor);
  }

  #append(line: string): void {
    const { path, rotateBytes = ROTATE_BYTES } = this.#options;
    this.#size ??= this.#begin();
    const bytes = Buffer.byteLength(line);
    if (this.#size > 0 && this.#size + bytes > rotateBytes) this.#rotate();
    appendFileSync(path, line, { mode: 0o600 });
    this.#size += bytes;
  }

  /** A line that a crash or a full disk cut off is ended, so that it does not take the next one with it. */
  #begin(): number {
    const { path } = this.#options;
    const size = sizeOf(path);
    if (size === 0 || lastByteOf(path, size) === NEWLINE) return size;
    appendFileSync(path, '\n');
    return size + 1;
  }

  #rotate(): void {
    renameSync(this.#options.path, `${this.#options.path}.1`);
    this.#size = 0;
  }

  #lineOf({ sessionId, tool, args, result, durationMs, success, traceId, owner }: AuditEntry): object {
    const hide = (value: unknown) => redact(value, this.#secrets);
    return {
      ts: (this.#options.now ?? (() => new Date()))().toISOString(),
      session_id: sessionId,
      tool,
      args: shortened(hide(args)),
      result_summary: cut(String(hide(result)), MAX_RESULT_LENGTH),
      duration_ms: Math.round(durationMs),
      success,
      ...(traceId === undefined ? {} : { trace_id: traceId }),
      ...(owner !== undefined && { owner }),
    };
  }
}

function sizeOf(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

const NEWLINE = 10;

function lastByteOf(path: string, size: number): number | undefined {
  const file = openSync(path, 'r');
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, size - 1);
    return byte[0];
  } finally {
    closeSync(file);
  }
}

function shortened(args: unknown): unknown {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return shortValue(args);
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, shortValue(value)]));
}

function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value, MAX_VALUE_LENGTH);
  const text = JSON.stringify(value) ?? 'null';
  return text.length > MAX_VALUE_LENGTH ? cut(text, MAX_VALUE_LENGTH) : value;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Puts every tool call of every turn, those of helpers included, into the audit log. */
export function observeForAudit(log: Pick<AuditLog, 'record'>, isOn: () => boolean): ObserveTurn {
  // Bounded, because calls whose turn broke off never end.
  const inputs = new BoundedMap<string, unknown>(maxOpenCalls);
  return (sessionId, event, principal) => {
    if (event.type !== 'tool-start' && event.type !== 'tool-end') return;
    const call = `${sessionId} ${event.toolCallId}`;
    if (event.type === 'tool-start') return void inputs.set(call, event.input);
    const { name: tool, result, durationMs, failed } = event;
    const args = inputs.get(call);
    inputs.delete(call);
    const owner = ownerKey(principal);
    if (isOn()) log.record({ sessionId, tool, args, result, durationMs, success: !failed, owner });
  };
}

/** A line of the audit log. */
export interface AuditLine {
  ts: string;
  session_id: string;
  tool: string;
  args: unknown;
  result_summary: string;
  duration_ms: number;
  success: boolean;
}

interface AuditFilter {
  tool?: string | undefined;
  session?: string | undefined;
  success?: boolean | undefined;
  /** Words that stand somewhere in the line. */
  search?: string | undefined;
}

export interface AuditPage {
  lines: AuditLine[];
  /** Where the next page begins; null when there is nothing older. */
  next: string | null;
}

/** Which of the two files, and how many bytes of it are still to be read. */
interface Place {
  file: number;
  end: number;
}

/** Reads the log from its end backwards, the newest first; what was rotated away comes after. */
async function readAudit(
  path: string,
  filter: AuditFilter,
  limit: number,
  cursor: string | undefined,
): Promise<AuditPage> {
  const files = [path, `${path}.1`];
  const lines: AuditLine[] = [];
  let place: Place | undefined = placeOf(cursor) ?? { file: 0, end: Number.POSITIVE_INFINITY };
  let left = maxBytes;
  while (place !== undefined && left > 0) {
    for await (const { text, start } of linesBackwards(files[place.file] ?? '', place.end)) {
      left -= text.length + 1;
      const line = parse(text);
      if (line !== undefined && fits(line, text, filter)) lines.push(line);
      if (lines.length >= limit || left <= 0) return { lines, next: `${place.file}.${start}` };
    }
    place =
      place.file + 1 < files.length ? { file: place.file + 1, end: Number.POSITIVE_INFINITY } : undefined;
  }
  return { lines, next: null };
}

function placeOf(cursor: string | undefined): Place | undefined {
  const [, file, end] = /^([01])\.(\d{1,15})$/.exec(cursor ?? '') ?? [];
  return file === undefined ? undefined : { file: Number(file), end: Number(end) };
}

async function* linesBackwards(path: string, end: number): AsyncGenerator<{ text: string; start: number }> {
  const handle = await ifExists(open(path));
  if (handle === undefined) return;
  try {
    let position = Math.min(end, (await handle.stat()).size);
    let rest = Buffer.alloc(0);
    while (position > 0) {
      const size = Math.min(chunkBytes, position);
      position -= size;
      const chunk = Buffer.alloc(size);
      await handle.read(chunk, 0, size, position);
      const bytes = Buffer.concat([chunk, rest]);
      let stop = bytes.length;
      for (
        let at = bytes.lastIndexOf(NEWLINE, stop - 1);
        at !== -1;
        at = at === 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)
      ) {
        const text = bytes.toString('utf8', at + 1, stop);
        if (text !== '') yield { text, start: position + at + 1 };
        stop = at;
      }
      rest = bytes.subarray(0, stop);
    }
    if (rest.length > 0) yield { text: rest.toString('utf8'), start: 0 };
  } finally {
    await handle.close();
  }
}

/** A line that was cut off by a crash is no line. */
function parse(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine;
  } catch {
    return undefined;
  }
}

function fits(line: AuditLine, text: string, { tool, session, success, search }: AuditFilter): boolean {
  return (
    (tool === undefined || line.tool === tool) &&
    (session === undefined || line.session_id === session) &&
    (success === undefined || line.success === success) &&
    (search === undefined || text.toLowerCase().includes(search.toLowerCase()))
  );
}
