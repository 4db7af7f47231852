import { type Stats, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { resolve, sep } from 'node:path';
import { systemCode } from '@trunkline/std';
import type { z } from 'zod';
import { makeOption, type Option, type Reading, type Settings } from './option.ts';

/** A rule beyond the kind of an option, and how errors describe it: "expected an address such as 10.0.0.0/8". */
type Rule = { check?: (text: string) => boolean; expected?: string };
type Range = { min?: number; max?: number };

/** Any text, without surrounding blanks. */
export function text<Default extends string | undefined = undefined>(
  settings: Settings<Default> & Rule,
): Option<string | Default> {
  const { check = () => true, expected = 'text' } = settings;
  const read = (given: string): Reading<string> => (check(given) ? { value: given } : { expected });
  return makeOption(settings, { expected, placeholder: 'TEXT', read, write: String });
}

/** A whole number. */
export function integer<Default extends number | undefined = undefined>(
  settings: Settings<Default> & Range,
): Option<number | Default> {
  return numeric(settings, 'a whole number', /^[+-]?\d+$/, Number.isSafeInteger);
}

/** A number that may have a fraction. */
export function decimal<Default extends number | undefined = undefined>(
  settings: Settings<Default> & Range,
): Option<number | Default> {
  return numeric(settings, 'a number', /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i, Number.isFinite);
}

function numeric<Default extends number | undefined>(
  settings: Settings<Default> & Range,
  noun: string,
  form: RegExp,
  accepts: (value: number) => boolean,
): Option<number | Default> {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = settings;
  const expected = noun + rangeWords(settings);
  const read = (given: string): Reading<number> => {
    const value = form.test(given) ? Number(given) : Number.NaN;
    return accepts(value) && value >= min && value <= max ? { value } : { expected };
  };
  return makeOption(settings, { expected, placeholder: 'NUMBER', read, write: String });
}

function rangeWords({ min, max }: Range): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

const ON = ['1', 'true', 'yes', 'on'];
const OFF = ['0', 'false', 'no', 'off'];

/** On or off. With `anyValue`, whatever is set turns it on, for variables whose contract says so. */
export function toggle<Default extends boolean | undefined = undefined>(
  settings: Settings<Default> & { anyValue?: boolean },
): Option<boolean | Default> {
  const expected = settings.anyValue ? 'any value to turn it on' : '1, true, yes, on, 0, false, no or off';
  const read = (given: string): Reading<boolean> => {
    const word = given.toLowerCase();
    if (settings.anyValue || ON.includes(word)) return { value: true };
    return OFF.includes(word) ? { value: false } : { expected };
  };
  return makeOption(settings, {
    expected,
    placeholder: '',
    toggle: true,
    read,
    write: (on) => (on ? '1' : '0'),
  });
}

/** One of some words; with `ignoreCase` in any case, and then given back as listed. */
export function choice<const Value extends string, const Default extends Value | undefined = undefined>(
  settings: Settings<Default> & { values: readonly Value[]; ignoreCase?: boolean },
): Option<Value | Default> {
  const { values, ignoreCase = false } = settings;
  const fold = (word: string) => (ignoreCase ? word.toLowerCase() : word);
  const expected = `one of ${values.join(', ')}`;
  const read = (given: string): Reading<Value> => {
    const value = values.find((word) => fold(word) === fold(given));
    return value === undefined ? { expected } : { value };
  };
  return makeOption<Value, Default>(settings, {
    expected,
    placeholder: values.join('|'),
    read,
    write: String,
  });
}

/** Texts between commas, trimmed, blanks dropped. The rule holds for each of them. */
export function list<Default extends readonly string[] | undefined = undefined>(
  settings: Settings<Default> & Rule,
): Option<readonly string[] | Default> {
  const { check = () => true, expected: each = 'text' } = settings;
  const expected = `${each}, or several between commas`;
  const read = (given: string): Reading<readonly string[]> => {
    const items = given.split(',').flatMap((item) => item.trim() || []);
    return items.every(check) ? { value: items } : { expected };
  };
  return makeOption<readonly string[], Default>(settings, {
    expected,
    placeholder: 'A,B',
    read,
    write: (items) => items.join(','),
  });
}

/** An address with one of the schemes, given back as written. */
export function url<Default extends string | undefined = undefined>(
  settings: Settings<Default> & { schemes?: readonly string[] },
): Option<string | Default> {
  const { schemes = ['http', 'https'] } = settings;
  const expected = `an address that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  const read = (given: string): Reading<string> =>
    schemes.some((scheme) => given.toLowerCase().startsWith(`${scheme}://`)) && URL.canParse(given)
      ? { value: given }
      : { expected };
  return makeOption(settings, { expected, placeholder: 'URL', isAddress: true, read, write: String });
}

/** A JSON text of the schema's shape, which `expected` puts into words: "a JSON list of servers". */
export function json<Schema extends z.ZodType, Default extends z.output<Schema> | undefined = undefined>(
  settings: Settings<Default> & {
    schema: Schema;
    expected: string;
    hidden?: (value: z.output<Schema>) => readonly string[];
  },
): Option<z.output<Schema> | Default> {
  const { schema, expected, hidden, secret = false } = settings;
  const read = (given: string): Reading<z.output<Schema>> => {
    const parsed = parseJson(given);
    if (parsed === undefined) return { expected: `${expected}; this is no valid JSON` };
    const result = schema.safeParse(parsed.value);
    if (result.success) return { value: result.data };
    // What a schema says about a value may quote its keys.
    return { expected: secret ? expected : `${expected}; ${firstIssue(result.error)}` };
  };
  return makeOption<z.output<Schema>, Default>(settings, {
    expected,
    placeholder: 'JSON',
    hidden,
    read,
    write: (value) => JSON.stringify(value),
  });
}

function parseJson(given: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(given) };
  } catch {
    return undefined;
  }
}

function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue?.path.length ? `at ${issue.path.join('.')}: ` : '';
  return `${place}${issue?.message ?? 'it does not fit'}`;
}

type Presence = { mustExist?: boolean };

/** A directory, as an absolute path. It may be missing still, but must be no file. */
export function directory<Default extends string | undefined = undefined>(
  settings: Settings<Default> & Presence,
): Option<string | Default> {
  return pathOption(settings, 'directory', (found) => found.isDirectory());
}

/** A file, as an absolute path. It may be missing still, but must be no directory. */
export function file<Default extends string | undefined = undefined>(
  settings: Settings<Default> & Presence,
): Option<string | Default> {
  return pathOption(settings, 'file', (found) => !found.isDirectory());
}

function pathOption<Default extends string | undefined>(
  settings: Settings<Default> & Presence,
  noun: 'directory' | 'file',
  isRight: (found: Stats) => boolean,
): Option<string | Default> {
  const expected = settings.mustExist ? `the path of a ${noun} that exists` : `the path of a ${noun}`;
  const read = (given: string): Reading<string> => {
    const path = absolutePath(given);
    const found = look(path);
    if (found === 'missing') return settings.mustExist ? { expected } : { value: path };
    return found === 'unknown' || isRight(found) ? { value: path } : { expected };
  };
  return makeOption(settings, { expected, placeholder: 'PATH', read, write: withTilde });
}

export function absolutePath(given: string): string {
  return resolve(given === '~' || given.startsWith('~/') ? homedir() + given.slice(1) : given);
}

// Keeps the name of this machine's user out of help and generated pages.
function withTilde(path: string): string {
  return path === homedir() || path.startsWith(homedir() + sep) ? `~${path.slice(homedir().length)}` : path;
}

function look(path: string): Stats | 'missing' | 'unknown' {
  try {
    return statSync(path);
  } catch (error) {
    // A path that may not be inspected fails when it is opened.
    return systemCode(error) === 'ENOENT' ? 'missing' : 'unknown';
  }
}

/** Tells whether a text names a range of addresses, IPv4 or IPv6: `10.0.0.0/8`. The check of options that list some. */
export function isAddressRange(range: string): boolean {
  const [address = '', bits, ...more] = range.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return more.length === 0 && bits !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= longest;
}
