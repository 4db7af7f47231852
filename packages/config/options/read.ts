import type { SettingSource } from '@trunkline/std';
import { ConfigError, nearest } from '../config-error.ts';
import { type Environment, isFromFile, variableText } from '../environment/environment.ts';
import { createTextHider } from '../secrets/redact.ts';
import { namesSecret, resolveReferences } from '../secrets/references.ts';
import {
  type FileSetting,
  parseSettings,
  readSettingsFile,
  settingsPath,
} from '../settings/settings-file.ts';
import { flagsOf, type Option, type OptionsOf, type OptionTable } from './option.ts';

const LONGEST_SHOWN = 80;

/** Where the values of options come from: flags in `argv` beat variables in `env`, and those settings.yaml of the home. */
export type OptionSources = {
  env?: Environment;
  argv?: readonly string[];
  /** Stands for the text of settings.yaml, to try it before it is written. */
  settingsText?: string;
};

/** Reads every option of a table, or fails once with all that is wrong. */
export function readOptions<Table extends OptionTable>(
  table: Table,
  { env = process.env, argv = [], settingsText }: OptionSources = {},
): OptionsOf<Table> {
  const { given, problems: misused } = readArguments(table, argv);
  const { settings, problems: broken } = settingsOf(table, { env, given, settingsText });
  const hide = createTextHider(secretTexts(table, env, given, settings));
  const problems = [
    ...broken,
    ...misused.map(({ before, subject, after }) => before + hide(subject) + after),
  ];
  const values: Record<string, unknown> = {};
  for (const [key, option] of Object.entries(table.options)) {
    const found = given.get(key) ?? findText(option, env, settings);
    const source = found === undefined ? undefined : resolved(found, env);
    if (source !== undefined && 'problem' in source) {
      problems.push(`${shownPlace(source)}: ${source.problem}`);
      continue;
    }
    const reading = source === undefined ? { value: option.default } : option.read(source.text);
    if ('value' in reading) values[key] = reading.value;
    else if (source !== undefined) problems.push(problemWith(option, source, reading.expected, hide));
  }
  if (problems.length > 0) throw new ConfigError(`The settings of ${table.title} cannot be used:`, problems);
  return Object.freeze(values) as OptionsOf<Table>;
}

/** The text of each option by its key as it is written, references to secrets included, and where it comes from. */
export function findTexts(
  table: OptionTable,
  { env = process.env, argv = [] }: OptionSources = {},
): Map<string, Given> {
  const { given } = readArguments(table, argv);
  const { settings } = settingsOf(table, { env, given });
  return new Map(
    Object.entries(table.options).flatMap(([key, option]) => {
      const found = given.get(key) ?? findText(option, env, settings);
      return found === undefined ? [] : [[key, found] as const];
    }),
  );
}

type Settings = ReadonlyMap<string, FileSetting>;

/** What settings.yaml of the home says. A table without a home has none, and a home that is wrong is told elsewhere. */
function settingsOf(
  table: OptionTable,
  {
    env,
    given,
    settingsText,
  }: { env: Environment; given: ReadonlyMap<string, Given>; settingsText?: string | undefined },
): { settings: Settings; problems: readonly string[] } {
  const home = homeOf(table, env, given);
  if (home === undefined) return { settings: new Map(), problems: [] };
  try {
    const own = Object.values(table.options).flatMap((option) => option.env);
    const settings =
      settingsText === undefined
        ? readSettingsFile(home, own)
        : parseSettings(settingsText, settingsPath(home), own);
    return { settings, problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { settings: new Map(), problems: error.problems };
  }
}

/** TRUNKLINE_HOME, for a table that has it. */
function homeOf(table: OptionTable, env: Environment, given: ReadonlyMap<string, Given>): string | undefined {
  const option = table.options.trunklineHome;
  if (option === undefined) return undefined;
  const found = given.get('trunklineHome') ?? findText(option, env, new Map());
  const reading = found === undefined ? { value: option.default } : option.read(found.text);
  return 'value' in reading && typeof reading.value === 'string' ? reading.value : undefined;
}

/** What is written for an option: the environment, then settings.yaml; of its names the first that is not blank. */
function findText(option: Option<unknown>, env: Environment, settings: Settings): Given | undefined {
  for (const name of option.env) {
    const text = variableText(name, env);
    if (text !== undefined) return { name, text, source: isFromFile(name, env) ? '.env' : 'environment' };
  }
  for (const name of option.env) {
    const setting = settings.get(name);
    if (setting !== undefined) return { name, ...setting, source: 'settings.yaml' };
  }
  return undefined;
}

function resolved(given: Given, env: Environment): Given | Unresolved {
  if (given.source === 'flag' || !namesSecret(given.text)) return given;
  const user = given.source === 'settings.yaml' ? `settings.yaml: ${given.name}` : given.name;
  const found = resolveReferences(given.text, env, user);
  return 'value' in found ? { ...given, text: found.value } : { ...given, ...found };
}

// In a file, the line too.
function shownPlace({ name, place }: { name: string; place?: string | undefined }): string {
  return place === undefined ? name : `${place}: ${name}`;
}

function problemWith(
  option: Option<unknown>,
  given: Given,
  expected: string,
  hide: (text: string) => string,
) {
  const shown = option.secret ? '(a secret, not shown)' : JSON.stringify(shorten(hide(given.text)));
  return `${shownPlace(given)} is ${shown}; expected ${option.secret ? option.expected : hide(expected)}`;
}

function shorten(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

// A secret that was given to the wrong variable must not show there either.
function secretTexts(
  table: OptionTable,
  env: Environment,
  given: ReadonlyMap<string, Given>,
  settings: Settings,
): string[] {
  return Object.entries(table.options).flatMap(([key, option]) => {
    if (!option.secret) return [];
    const texts = [
      given.get(key)?.text,
      ...option.env.flatMap((name) => [variableText(name, env), settings.get(name)?.text]),
    ];
    return texts.filter((text) => text !== undefined);
  });
}

/** A text that was given for an option, by what name and where; `place` is `file:line:column`. */
export type Given = {
  readonly name: string;
  readonly text: string;
  readonly source: Exclude<SettingSource, 'default'>;
  readonly place?: string;
};

/** A variable that refers to a secret which cannot be had. */
type Unresolved = { readonly name: string; readonly place?: string; readonly problem: string };

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
  else if (negated) pass.given.set(key, { name, text: 'off', source: 'flag' });
  else pass.given.set(key, { name, text: value ?? 'on', source: 'flag' });
}

function takeValue(name: string, inline: string | undefined, { key, option }: KnownFlag, pass: Pass): void {
  const text = inline ?? nextValue(option, pass);
  if (text === undefined || text.trim() === '') {
    pass.problems.push({ before: '', subject: name, after: ` needs a value; expected ${option.expected}` });
  } else {
    pass.given.set(key, { name, text: text.trim(), source: 'flag' });
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
