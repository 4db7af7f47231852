import { appendFileSync, closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { redact } from '@trunkline/config';
import { type AuditFilter, type AuditPage, readAudit } from './audit-reader.ts';

/** One call of a tool, as it is to be remembered. */
export interface AuditEntry {
  sessionId: string;
  tool: string;
  args: unknown;
  result: string;
  durationMs: number;
  success: boolean;
  traceId?: string | undefined;
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

  #lineOf({ sessionId, tool, args, result, durationMs, success, traceId }: AuditEntry): object {
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
