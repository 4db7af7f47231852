import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import type { LOG_LEVELS } from '../options/shared.ts';
import type { Secrets } from '../secrets/hide-text.ts';
import { createRedactor } from '../secrets/redact.ts';
import { prettyStream } from './pretty.ts';

export type LogLevel = (typeof LOG_LEVELS)[number];

/** A message, or fields and a message; an error goes in the field `err`. */
export type LogMethod = {
  (message: string): void;
  (fields: object, message?: string): void;
};

export type Logger = {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  /** A logger that puts these fields on every line. */
  child(fields: object): Logger;
};

export type LoggerSettings = {
  name: string;
  level?: LogLevel;
  /** Values to hide wherever they occur. What is added later is hidden from then on. */
  secrets?: Secrets;
  /** Where the lines go; standard output when not given. */
  destination?: { write(text: string): unknown };
  /** Lines for people instead of JSON; as a rule on when standard output is a terminal. */
  pretty?: boolean;
};

const LEVELS = { DEBUG: 'debug', INFO: 'info', WARNING: 'warn', ERROR: 'error' } as const;
/** Bytes of lines that wait for room on the disk of the log. */
const MOST_WAITING = 1024 * 1024;
const OWN_FIELDS = new Set(['level', 'time', 'name', 'msg']);

/** Makes a logger that writes one line a message and no secrets. */
export function createLogger(settings: LoggerSettings): Logger {
  const { name, level = 'INFO', secrets = [], destination, pretty = isTerminal(destination) } = settings;
  const sink: DestinationStream = destination ?? standardOutput();
  const lines = pino(
    {
      level: LEVELS[level],
      base: { name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label === 'warn' ? 'warning' : label }) },
      // Errors arrive here as plain fields already.
      serializers: { err: (err) => err },
    },
    pretty ? prettyStream(sink) : sink,
  );
  return wrap(lines, createRedactor(secrets));
}

/** A log that cannot be written, as its disk is full, must not end the service: lines wait for room, then are left out. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true, maxLength: MOST_WAITING });
  output.on('error', () => undefined);
  return output;
}

function isTerminal(destination: unknown): boolean {
  return destination === undefined && process.stdout.isTTY === true;
}

function wrap(lines: PinoLogger, redact: (value: unknown) => unknown): Logger {
  const method =
    (level: 'debug' | 'info' | 'warn' | 'error') => (first: object | string, message?: string) => {
      if (!lines.isLevelEnabled(level)) return;
      const fields = typeof first === 'string' ? {} : fieldsOf(first, redact);
      const text = typeof first === 'string' ? first : (message ?? messageOf(first));
      lines[level](fields, redact(text) as string | undefined);
    };
  return {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    child: (fields) => wrap(lines.child(fieldsOf(fields, redact)), redact),
  };
}

// A field named like one of the line's own would stand twice in it.
function fieldsOf(fields: object, redact: (value: unknown) => unknown): Record<string, unknown> {
  const plain = redact(fields instanceof Error ? { err: fields } : { ...fields }) as Record<string, unknown>;
  const entries = Object.entries(plain).map(([name, value]) => [
    OWN_FIELDS.has(name) ? `${name}_` : name,
    value,
  ]);
  return Object.fromEntries(entries);
}

function messageOf(fields: object): string | undefined {
  return fields instanceof Error ? fields.message : undefined;
}
