import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@trunkline/secrets';
import { systemCode } from '@trunkline/std';
import { ConfigError } from '../config-error.ts';
import { namesSecret, type Resolution, resolveReferences } from '../secrets/references.ts';

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/;

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

export type { Environment };

/**
 * The value of one variable, without surrounding blanks, with secrets in place of `${secret:name}`; a blank one counts as
 * unset. Fails for a secret that is not there.
 */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  const found = resolveVariable(name, env);
  if (found === undefined || 'value' in found) return found?.value;
  throw new ConfigError('The environment cannot be used:', [`${name}: ${found.problem}`]);
}

/** As `readVariable`, with what is wrong as data. */
export function resolveVariable(name: string, env: Environment): Resolution | undefined {
  const value = variableText(name, env);
  if (value === undefined) return undefined;
  return namesSecret(value) ? resolveReferences(value, env, name) : { value };
}

/** The value of a variable as it is written, references included. */
export function variableText(name: string, env: Environment = process.env): string | undefined {
  return Object.hasOwn(env, name) ? env[name]?.trim() || undefined : undefined;
}

/** Every variable of the process as it is written, for those who look some up later. */
export function readEnvironment(): Environment {
  return { ...process.env };
}

/** Variables whose names are built from data: `/^PEER_(.+)_URL$/` gives each value under what the group captured. */
export function readVariables(pattern: RegExp, env: Environment = process.env): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const captured = matchOf(pattern, name)?.[1];
    const value = readVariable(name, env);
    if (captured !== undefined && value !== undefined) found.set(captured, value);
  }
  return found;
}

// A global or sticky pattern would remember its place from the name before.
function matchOf(pattern: RegExp, name: string): RegExpExecArray | null {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).exec(name);
}

/**
 * The environment with what a `.env` file adds to it. A variable that is already set, even to nothing, keeps its
 * value; a file that is not there adds none.
 */
export function loadEnvironmentFile(path: string, env: Environment = process.env): Environment {
  const added = parseEnvironmentFile(readIfThere(path), path);
  for (const [name, value] of Object.entries(added))
    if (!Object.hasOwn(env, name)) addedByFile.set(name, value);
  return { ...added, ...env };
}

/** An environment with what its `.env` file adds now, after a change of the file. */
export function reloadEnvironmentFile(path: string, env: Environment): Environment {
  const own = Object.entries(env).filter(([name]) => !isFromFile(name, env));
  return loadEnvironmentFile(path, Object.fromEntries(own));
}

/** What `.env` files added in this process. */
const addedByFile = new Map<string, string>();

/** Whether the value of a variable comes from the `.env` file, and not from the environment itself. */
export function isFromFile(name: string, env: Environment): boolean {
  return addedByFile.has(name) && addedByFile.get(name) === env[name];
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return '';
    throw new ConfigError(`${path} cannot be read:`, [`the system says ${systemCode(cause)}`], { cause });
  }
}

// Problems name the line and never quote it: it may hold a secret.
function parseEnvironmentFile(text: string, path: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const { name, value } of assignmentsOf(text, path)) values[name] = value;
  return values;
}

/** The text of a `.env` file with other values where `change` gives one; all else stays as it is. */
export function changeEnvironmentFile(
  text: string,
  path: string,
  change: (name: string, value: string) => string | undefined,
): string {
  const lines = text.split('\n');
  for (const { name, value, line, extraLines } of assignmentsOf(text, path).reverse()) {
    const changed = change(name, value);
    const start = ASSIGNMENT.exec((lines[line] ?? '').replace(/^\uFEFF/, ''))?.[0];
    if (changed !== undefined && start !== undefined)
      lines.splice(line, 1 + extraLines, `${start}${changed}`);
  }
  return lines.join('\n');
}

type Assigned = { name: string; value: string; line: number; extraLines: number };

/** What the text of a `.env` file assigns, with the index of the line where each begins. Fails for a malformed line. */
export function assignmentsOf(text: string, path: string): Assigned[] {
  const found: Assigned[] = [];
  const problems: string[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (let line = 0; line < lines.length; line++) {
    if (/^\s*(#|$)/.test(lines[line] ?? '')) continue;
    const read = readAssignment(lines, line);
    const { extraLines } = read;
    if ('problem' in read) problems.push(`${path}:${line + 1}: ${read.problem}`);
    else found.push({ name: read.name, value: read.text, line, extraLines });
    line += extraLines;
  }
  if (problems.length > 0) throw new ConfigError(`${path} cannot be used:`, problems);
  return found;
}

type Assignment = { extraLines: number } & ({ name: string; text: string } | { problem: string });

function readAssignment(lines: readonly string[], index: number): Assignment {
  const line = lines[index] ?? '';
  const match = ASSIGNMENT.exec(line);
  if (match?.[1] === undefined) return { problem: 'expected NAME=value', extraLines: 0 };
  const rest = line.slice(match[0].length);
  const quote = rest[0];
  if (quote === '"' || quote === "'")
    return readQuoted(match[1], quote, rest.slice(1), lines.slice(index + 1));
  return { name: match[1], text: rest.replace(/(^|\s+)#.*$/, '').trim(), extraLines: 0 };
}

// A quoted value may run over several lines, as private keys do.
function readQuoted(name: string, quote: string, first: string, following: readonly string[]): Assignment {
  let body = first;
  for (let extraLines = 0; extraLines <= following.length; extraLines++) {
    const end = endOfQuote(body, quote);
    if (end !== -1) return closeQuoted(name, quote, body, end, extraLines);
    body += `\n${following[extraLines] ?? ''}`;
  }
  return { problem: `the ${quote} that opens the value of ${name} is never closed`, extraLines: 0 };
}

function endOfQuote(body: string, quote: string): number {
  if (quote === "'") return body.indexOf(quote);
  for (let index = 0; index < body.length; index++) {
    if (body[index] === '\\') index++;
    else if (body[index] === quote) return index;
  }
  return -1;
}

function closeQuoted(name: string, quote: string, body: string, end: number, extraLines: number): Assignment {
  if (!/^\s*(#.*)?$/.test(body.slice(end + 1))) {
    return { problem: `there is something after the value of ${name}`, extraLines };
  }
  const text = body.slice(0, end);
  return { name, text: quote === '"' ? withEscapes(text) : text, extraLines };
}

function withEscapes(text: string): string {
  return text.replace(/\\([\s\S])/g, (whole, letter: string) => ESCAPES[letter] ?? whole);
}

const EXAMPLE = join(import.meta.dirname, '../../../.env.example');

const lists = new Map<string, ReadonlySet<string>>();

/**
 * The variables of all services. They stand in `.env.example`, which is made from the tables of all services; loading those
 * takes longer, and a service does not know the others. An installation without that file knows none.
 */
export function knownVariables(example = EXAMPLE): ReadonlySet<string> {
  const known = lists.get(example) ?? variablesIn(textOf(example));
  lists.set(example, known);
  return known;
}

// Lines that set one, and other names of the same option, which stand in the comment above.
function variablesIn(text: string): Set<string> {
  const set = [...text.matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name = '']) => name);
  const comments = text.replace(/\n# /g, ' ');
  const others = [...comments.matchAll(/Also read from ([A-Z0-9_, ]+)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
  return new Set([...set, ...others.filter(Boolean)]);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}
