import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import type { LOG_LEVELS } from '../options/shared.ts';
import { createAnswerHider, createRedactor, type Secrets } from '../secrets/redact.ts';

const NAME_WIDTH = 12;

const LEVEL_WIDTH = 7;

const LEVEL_COLOURS: Record<string, number> = { debug: 90, info: 32, warning: 33, error: 31 };

const DIM = 90;

const CYAN = 36;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** A message, or fields and a message; an error goes in the field `err`. */
type LogMethod = {
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
  /** A text for an answer without the secrets that no line may show, save those that the request brought itself. */
  hide?(text: string, brought: string): string;
  /** Counts for this logger, and for children that are made from now on. */
  setLevel?(level: LogLevel): void;
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
const ORDER = { debug: 0, info: 1, warn: 2, error: 3 } as const;
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
  return wrap(() => lines, LEVELS[level], createRedactor(secrets), createAnswerHider(secrets));
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

type Level = (typeof LEVELS)[LogLevel];

/** `open` is called for the first line: every request has a logger of its own, and most write none. */
function wrap(
  open: () => PinoLogger,
  level: Level,
  redact: (value: unknown) => unknown,
  hide: (text: string, brought: string) => string,
): Logger {
  let lowest = level;
  let opened: PinoLogger | undefined;
  const lines = () => {
    opened ??= open();
    return opened;
  };
  const method = (level: Level) => (first: object | string, message?: string) => {
    if (ORDER[level] < ORDER[lowest]) return;
    const fields = typeof first === 'string' ? {} : fieldsOf(first, redact);
    const text = typeof first === 'string' ? first : (message ?? messageOf(first));
    lines()[level](fields, redact(text) as string | undefined);
  };
  return {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    child: (fields) => {
      const level = lowest;
      return wrap(() => lines().child(fieldsOf(fields, redact), { level }), level, redact, hide);
    },
    hide,
    setLevel: (level) => {
      lowest = LEVELS[level];
      lines().level = lowest;
    },
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

type Line = { level: string; time: string; name: string; msg?: string } & Record<string, unknown>;

type ErrorFields = { type: string; message: string; stack: string; cause?: unknown; errors?: unknown };

type Paint = (text: string, colour: number) => string;

/** Takes lines of JSON and writes lines for people. */
function prettyStream(sink: DestinationStream): DestinationStream {
  const paint = painter();
  return { write: (line) => sink.write(`${prettyLine(JSON.parse(line), paint)}\n`) };
}

// https://no-color.org: any value that is not empty turns colours off.
function painter(): Paint {
  const plain = Boolean(process.env.NO_COLOR) || process.env.TERM === 'dumb';
  return plain ? (text) => text : (text, colour) => `\u001b[${colour}m${text}\u001b[39m`;
}

function prettyLine({ level, time, name, msg, ...fields }: Line, paint: Paint): string {
  const head = [
    paint(clock(time), DIM),
    paint(level.toUpperCase().padEnd(LEVEL_WIDTH), LEVEL_COLOURS[level] ?? DIM),
    paint(name.padEnd(NAME_WIDTH), CYAN),
    ...(msg === undefined ? [] : [visible(msg)]),
  ].join(' ');
  const [errors, others] = split(Object.entries(fields));
  const inline = others.map(([key, value]) => `${paint(`${visible(key)}=`, DIM)}${shown(value)}`);
  const below = errors.flatMap(([key, error]) =>
    errorLines(key, error).map((line) => paint(`    ${line}`, DIM)),
  );
  return [[head, ...inline].join(' '), ...below].join('\n');
}

function clock(time: string): string {
  const date = new Date(time);
  const part = (value: number, width = 2) => String(value).padStart(width, '0');
  return `${part(date.getHours())}:${part(date.getMinutes())}:${part(date.getSeconds())}.${part(date.getMilliseconds(), 3)}`;
}

function split(entries: readonly [string, unknown][]): [[string, ErrorFields][], [string, unknown][]] {
  const errors: [string, ErrorFields][] = [];
  const others: [string, unknown][] = [];
  for (const [key, value] of entries) {
    if (isError(value)) errors.push([key, value]);
    else others.push([key, value]);
  }
  return [errors, others];
}

function isError(value: unknown): value is ErrorFields {
  return typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string';
}

// The stack with what else the error carries and what caused it, each further in.
function errorLines(label: string, error: ErrorFields): string[] {
  const { type, message, stack, cause, errors, ...more } = error;
  const [first, ...frames] = stack.split('\n').map(visible);
  const plain = isError(cause) || cause === undefined ? more : { ...more, cause };
  const fields = Object.entries(plain).map(([key, value]) => `${visible(key)}=${shown(value)}`);
  const inner = [...(isError(cause) ? errorLines('caused by', cause) : []), ...innerErrors(errors)];
  return [
    `${label}: ${first ?? `${type}: ${message}`}`,
    ...frames,
    ...[...fields, ...inner].map((line) => `  ${line}`),
  ];
}

function innerErrors(errors: unknown): string[] {
  return Array.isArray(errors) ? errors.filter(isError).flatMap((error) => errorLines('one of', error)) : [];
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@%+,~?&=#[\]-]+$/.test(value)) return value;
  return visible(JSON.stringify(value) ?? '');
}

// What someone else sent must not steer the terminal or forge lines.
function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    return escaped === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : escaped;
  });
}
