import type { DestinationStream } from 'pino';

const NAME_WIDTH = 12;
const LEVEL_WIDTH = 7;
const LEVEL_COLOURS: Record<string, number> = { debug: 90, info: 32, warning: 33, error: 31 };
const DIM = 90;
const CYAN = 36;

type Line = { level: string; time: string; name: string; msg?: string } & Record<string, unknown>;
type ErrorFields = { type: string; message: string; stack: string; cause?: unknown; errors?: unknown };
type Paint = (text: string, colour: number) => string;

/** Takes lines of JSON and writes lines for people. */
export function prettyStream(sink: DestinationStream): DestinationStream {
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
