import { ConfigError, nearest } from '../config-error.ts';
import { type Environment, resolveVariable, variableText } from '../environment/environment.ts';
import { createTextHider } from '../secrets/redact.ts';
import { flagsOf, type Option, type OptionsOf, type OptionTable } from './option.ts';

const LONGEST_SHOWN = 80;

/** Where the values of options come from: flags in `argv` beat variables in `env`. */
export type OptionSources = { env?: Environment; argv?: readonly string[] };

/** Reads every option of a table, or fails once with all that is wrong. */
export function readOptions<Table extends OptionTable>(
  table: Table,
  { env = process.env, argv = [] }: OptionSources = {},
): OptionsOf<Table> {
  const { given, problems: misused } = readArguments(table, argv);
  const hide = createTextHider(secretTexts(table, env, given));
  const problems = misused.map(({ before, subject, after }) => before + hide(subject) + after);
  const values: Record<string, unknown> = {};
  for (const [key, option] of Object.entries(table.options)) {
    const source = given.get(key) ?? fromEnvironment(option, env);
    if (source !== undefined && 'problem' in source) {
      problems.push(`${source.name}: ${source.problem}`);
      continue;
    }
    const reading = source === undefined ? { value: option.default } : option.read(source.text);
    if ('value' in reading) values[key] = reading.value;
    else if (source !== undefined) problems.push(problemWith(option, source, reading.expected, hide));
  }
  if (problems.length > 0) throw new ConfigError(`The settings of ${table.title} cannot be used:`, problems);
  return Object.freeze(values) as OptionsOf<Table>;
}

function fromEnvironment(option: Option<unknown>, env: Environment): Given | Unresolved | undefined {
  for (const name of option.env) {
    const found = resolveVariable(name, env);
    if (found !== undefined) return 'value' in found ? { name, text: found.value } : { name, ...found };
  }
  return undefined;
}

function problemWith(
  option: Option<unknown>,
  { name, text }: Given,
  expected: string,
  hide: (text: string) => string,
) {
  const shown = option.secret ? '(a secret, not shown)' : JSON.stringify(shorten(hide(text)));
  return `${name} is ${shown}; expected ${option.secret ? option.expected : hide(expected)}`;
}

function shorten(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

// A secret that was given to the wrong variable must not show there either.
function secretTexts(table: OptionTable, env: Environment, given: ReadonlyMap<string, Given>): string[] {
  return Object.entries(table.options).flatMap(([key, option]) => {
    if (!option.secret) return [];
    const texts = [given.get(key)?.text, ...option.env.map((name) => variableText(name, env))];
    return texts.filter((text) => text !== undefined);
  });
}

/** A text that was given for an option, and by what name. */
type Given = { readonly name: string; readonly text: string };

/** A variable that refers to a secret which cannot be had. */
type Unresolved = { readonly name: string; readonly problem: string };

/** What is wrong with the arguments: `subject` is what stood there and may hold a secret, the rest does not. */
type ArgumentProblem = { readonly before: string; readonly subject: string; readonly after: string };

type KnownFlag = { readonly key: string; readonly option: Option<unknown> };

/** What one pass over the arguments gathers. */
type Pass = {
  readonly flags: ReadonlyMap<string, KnownFlag>;
  readonly rest: string[];
  readonly given: Map<string, Given>;
  readonly problems: ArgumentProblem[];
};

/** Sorts the arguments of a command by option; of a flag that comes twice the last counts. */
function readArguments(table: OptionTable, argv: readonly string[]): Pick<Pass, 'given' | 'problems'> {
  const pass: Pass = { flags: knownFlags(table), rest: [...argv], given: new Map(), problems: [] };
  for (let token = pass.rest.shift(); token !== undefined; token = pass.rest.shift()) takeToken(token, pass);
  return { given: pass.given, problems: pass.problems };
}

function knownFlags(table: OptionTable): Map<string, KnownFlag> {
  const entries = Object.entries(table.options);
  return new Map(
    entries.flatMap(([key, option]) => flagsOf(option).map((flag) => [flag, { key, option }] as const)),
  );
}

function takeToken(token: string, pass: Pass): void {
  const equals = token.indexOf('=');
  const name = equals === -1 ? token : token.slice(0, equals);
  const value = equals === -1 ? undefined : token.slice(equals + 1);
  const known = pass.flags.get(name);
  if (!token.startsWith('-')) refuseStray(pass);
  else if (known === undefined) refuseUnknown(name, value, pass);
  else if (known.option.toggle) takeToggle(name, value, known, pass);
  else takeValue(name, value, known, pass);
}

function takeToggle(name: string, value: string | undefined, { key, option }: KnownFlag, pass: Pass): void {
  const negated = name !== option.flag;
  if (negated && value !== undefined)
    pass.problems.push({ before: '', subject: name, after: ' takes no value' });
  else if (negated) pass.given.set(key, { name, text: 'off' });
  else pass.given.set(key, { name, text: value ?? 'on' });
}

function takeValue(name: string, inline: string | undefined, { key, option }: KnownFlag, pass: Pass): void {
  const text = inline ?? nextValue(option, pass);
  if (text === undefined || text.trim() === '') {
    pass.problems.push({ before: '', subject: name, after: ` needs a value; expected ${option.expected}` });
  } else {
    pass.given.set(key, { name, text: text.trim() });
  }
}

// What follows and is written like a flag is no value; after a secret's flag it is dropped unseen, as it may be one.
function nextValue(option: Option<unknown>, { rest, flags }: Pass): string | undefined {
  const [next] = rest;
  if (next === undefined || !next.startsWith('--')) return rest.shift();
  if (option.secret && !flags.has(next)) rest.shift();
  return undefined;
}

function refuseUnknown(name: string, value: string | undefined, pass: Pass): void {
  const near = nearest(name, pass.flags.keys());
  const hint = near === undefined ? '; --help lists the flags' : `; did you mean ${near}?`;
  pass.problems.push({ before: 'unknown flag ', subject: name, after: hint });
  // Most likely this flag's value: it goes unseen with its flag.
  if (value === undefined && pass.rest[0]?.startsWith('-') === false) pass.rest.shift();
}

function refuseStray(pass: Pass): void {
  const after = 'an argument that belongs to no flag; values follow their flag, as in --name=value';
  if (!pass.problems.some((problem) => problem.after === after))
    pass.problems.push({ before: '', subject: '', after });
}
