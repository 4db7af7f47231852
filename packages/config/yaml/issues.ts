import type { z } from 'zod';
import { nearest } from '../config-error.ts';
import { findPlace, offsetOf, type Problem, type YamlSource } from './source.ts';

const HIDDEN = '[hidden]';

const KNOWN_KEY = /^(?:sk|pk|rk|key|ghp|gho|ghs|github_pat|glpat|xox[a-z])[-_]\w[\w-]{5,}$/i;

const LONGEST = 60;

type Issue = z.core.$ZodIssue;

/** Turns what a schema found wrong into problems at their places in the file. */
export function issueProblems(
  source: YamlSource,
  schema: z.ZodType,
  value: unknown,
  error: z.ZodError,
): Problem[] {
  return error.issues
    .map(closest)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownKey(source, schema, issue.path, key))
        : mismatch(source, value, issue),
    );
}

/** Every path an issue is about, those inside the branches of a union included. */
export function pathsOf(issue: Issue): PropertyKey[][] {
  if (issue.code !== 'invalid_union') return [issue.path];
  const inner = issue.errors.flat().flatMap(pathsOf);
  return [issue.path, ...inner.map((path) => [...issue.path, ...path])];
}

function unknownKey(
  source: YamlSource,
  schema: z.ZodType,
  path: readonly PropertyKey[],
  key: string,
): Problem {
  const known = keysAt(schema, path);
  const expected = known.length === 0 ? '' : `; expected ${known.join(', ')}`;
  const words = `unknown key ${JSON.stringify(shownName(key))}${hintFor(key, known) || expected}`;
  return { offset: offsetOfKey(source, [...path, key]), words: pathWords(path) + words };
}

function hintFor(key: string, known: readonly string[]): string {
  const head = headOf(key);
  if (head !== key && known.includes(head)) return '; put a blank behind the colon';
  const near = nearest(key, known);
  return near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
}

function mismatch(source: YamlSource, value: unknown, issue: Issue): Problem {
  return {
    offset: offsetOf(findPlace(source, issue.path)),
    words: pathWords(issue.path) + describeIssue(issue, valueAt(value, issue.path)),
  };
}

function offsetOfKey(source: YamlSource, path: readonly PropertyKey[]): number {
  return offsetOf({ ...findPlace(source, path), complete: false });
}

// Of a union the branch that came furthest is the one that was meant.
function closest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const [furthest] = issue.errors.flat().sort((left, right) => reach(right) - reach(left));
  if (furthest === undefined || reach(furthest) === 0) return issue;
  return closest({ ...furthest, path: [...issue.path, ...furthest.path] });
}

// A branch that only met a key it does not know came further than one that wanted something else altogether.
function reach({ code, path }: Issue): number {
  return path.length * 2 + (code === 'unrecognized_keys' ? 1 : 0);
}

function describeIssue(issue: Issue, found: unknown): string {
  if (found === undefined && issue.code !== 'custom') return `is missing; expected ${expectedWords(issue)}`;
  if (issue.code === 'invalid_type' || issue.code === 'invalid_union') {
    return `expected ${expectedWords(issue)}, found ${kindOf(found)}`;
  }
  return issue.code === 'custom' ? issue.message : `expected ${expectedWords(issue)}`;
}

function expectedWords(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.length === 1
        ? JSON.stringify(issue.values[0])
        : `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_union':
      return [...new Set(issue.errors.flat().map(expectedWords))].join(' or ') || 'another shape';
    case 'unrecognized_keys':
      return `no key ${issue.keys.map(shownName).join(', ')}`;
    default:
      // "Too small: expected number to be >=1" ends as ours begins.
      return issue.message.replace(/^[^:]*: /, '').replace(/^expected /, '');
  }
}

const KINDS: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  null: 'nothing',
  array: 'a list',
  tuple: 'a list',
  object: 'a map',
  record: 'a map',
};

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return KINDS[typeof value] ?? typeof value;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (part, step) => (part as Record<PropertyKey, unknown> | null | undefined)?.[step],
    value,
  );
}

// Written as one would in code: `users[0].role`.
function pathWords(path: readonly PropertyKey[]): string {
  if (path.length === 0) return '';
  return `${path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${shownName(String(step))}`))
    .join('')
    .replace(/^\./, '')}: `;
}

/** The part of a schema's definition that leads further in. */
type Definition = {
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  valueType?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  options?: readonly z.core.$ZodType[];
};

/** The keys that a schema knows at a path; none where they are unknown. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const definition = schema._zod.def as Definition;
  const through = definition.innerType ?? definition.in;
  if (through !== undefined) return keysAt(through, path);
  if (definition.options !== undefined) return definition.options.flatMap((option) => keysAt(option, path));
  const [step, ...rest] = path;
  if (step === undefined) return Object.keys(definition.shape ?? {});
  const inner = definition.shape?.[String(step)] ?? definition.element ?? definition.valueType;
  return inner === undefined ? [] : keysAt(inner, rest);
}

/** A name of the file as errors may show it: one slip turns a secret into a key, as in `{api_key:sk-...}`. */
export function shownName(name: string): string {
  const head = headOf(name);
  const shown = head.replace(/\S+/g, (word) => (looksSecret(word) ? HIDDEN : word));
  return head === name && shown.length <= LONGEST ? shown : `${shown.slice(0, LONGEST)}…`;
}

/** What stands before a colon or an equals sign, which no name has in it. */
function headOf(name: string): string {
  return name.split(/[:=]/, 1)[0]?.trimEnd() ?? '';
}

/** A known kind of key, or a part that mixes letters and digits for longer than a name does. */
function looksSecret(word: string): boolean {
  const parts = word.split(/[-_./]/);
  return KNOWN_KEY.test(word) || parts.some((part) => /^(?=.*\d)(?=.*[a-z]).{12,}$/i.test(part));
}
