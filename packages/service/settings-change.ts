import { randomBytes } from 'node:crypto';
import {
  ConfigError,
  changeSettings,
  describeSettings,
  type Environment,
  knownVariables,
  type Option,
  type OptionTable,
  parseSettings,
  problemWithName,
  readOptions,
  readSettingsText,
  removeUnreferenced,
  type SecretStore,
  type StartContext,
  secretNameOf,
  secretReference,
  settingsPath,
} from '@trunkline/config';
import { defineErrors, HttpError } from '@trunkline/http';
import { CodedError, KeyedQueue, type PostureView, type SettingsChange } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { explainSecrets } from './secrets-routes.ts';

export const settingsErrors = defineErrors({
  setting_refused: [400, ({ words }: { words: string }) => words],
  setting_fixed: [409, ({ words }: { words: string }) => words],
  settings_unusable: [409, ({ words }: { words: string }) => words],
});

/** How the options of a service came to be, for those who show and change them. */
export interface SettingsContext {
  argv?: readonly string[] | undefined;
  /** The tables of all services of this process, whose values are checked too. */
  tables?: readonly OptionTable[];
  /** Values by variable that the starter of the service chose, and that count where nothing is set. */
  defaults?: Readonly<Record<string, string>>;
  /** Why the newest settings do not count. */
  problem?(): string | undefined;
  /** Secrets in plain text in .env and the files of all services of this process. */
  plainSecrets?(): PostureView['findings'][number];
}

/** Where settings are kept, and the tables by which they are checked. */
export interface SettingsPlace {
  /** TRUNKLINE_HOME. */
  home: string;
  secrets: SecretStore;
  settings: SettingsContext & { table: OptionTable; env?: Environment | undefined };
}

/** One change of a home at a time: the next one builds on it. */
const saving = new KeyedQueue();

/** Writes settings.yaml, and secrets into their store. Checks everything before it writes anything; fails with one of `settingsErrors`. */
export function saveSettings(place: SettingsPlace, changes: SettingsChange): Promise<void> {
  return saving.run(place.home, () => save(place, changes));
}

async function save({ home, settings, secrets }: SettingsPlace, changes: SettingsChange): Promise<void> {
  const file = settingsPath(home);
  const tables = [settings.table, ...(settings.tables ?? [])];
  refuseNames(tables, changes);
  refuseOverridden({ home, settings }, changes);
  for (const [variable, value] of Object.entries(changes))
    for (const option of optionsOf(tables, variable)) refuseValue(variable, option, value ?? '');
  const before = readSettingsText(file);
  explained(() => parseSettings(before ?? '', file, variablesOf(tables)));
  const isSecret = (variable: string) => optionsOf(tables, variable).some(({ secret }) => secret);
  const written = Object.entries(changes).map(([variable, value]): [string, string | null] => {
    const text = value?.trim() || null;
    if (text === null || !isSecret(variable) || isReference(text)) return [variable, text];
    const name = `${secretNameOf(`settings-${variable}`)}-${randomBytes(3).toString('hex')}`;
    explainSecrets(() => secrets.set(name, text));
    return [variable, secretReference(name)];
  });
  const after = changeSettings(before ?? '', new Map(written));
  try {
    const values = refuseUnusable({ home, settings }, after);
    await refuseStart({ home, settings }, { before: before ?? '', values });
    await write(file, before, after);
  } catch (error) {
    removeUnreferenced(after, before ?? '', { store: secrets, prefix: 'settings' });
    throw error;
  }
  removeUnreferenced(before ?? '', after, { store: secrets, prefix: 'settings' });
}

async function write(file: string, before: string | undefined, after: string): Promise<void> {
  try {
    await writeFileAtomic(file, after, before === undefined ? { mode: 0o600 } : { over: before });
  } catch (cause) {
    if (!(cause instanceof CodedError)) throw cause;
    throw settingsErrors.settings_unusable({ words: cause.message }, { cause });
  }
}

/** Whether a value is right, and whether it is a secret, only the table of its service says. */
function refuseNames(tables: readonly OptionTable[], changes: SettingsChange): void {
  const own = new Set(variablesOf(tables));
  const known = new Set([...knownVariables(), ...own]);
  const problems = Object.entries(changes).flatMap(([variable, value]) => {
    const problem = problemWithName(variable, known);
    if (problem !== undefined || value === null || own.has(variable)) return problem ?? [];
    return `${variable} is a setting of another service, which runs by itself; change it there`;
  });
  if (problems.length > 0) throw settingsErrors.setting_refused({ words: `${problems.join('. ')}.` });
}

/** A value that another source overrides would be stored and never count. */
function refuseOverridden(
  { home, settings }: Pick<SettingsPlace, 'home' | 'settings'>,
  changes: SettingsChange,
): void {
  for (const table of [settings.table, ...(settings.tables ?? [])]) {
    for (const { variable, fixed } of describeSettings(table, sourcesOf(home, settings)))
      if (fixed !== null && typeof changes[variable] === 'string')
        throw settingsErrors.setting_fixed({ words: `${fixed}.` });
  }
}

/** With which a service would not start the next time: a secret that is not there, or a value that came by hand. */
function refuseUnusable(
  { home, settings }: Pick<SettingsPlace, 'home' | 'settings'>,
  settingsText: string,
): Map<OptionTable, object> {
  const { argv, env } = sourcesOf(home, settings);
  // A port cannot stand in the file, and PORT does not count for services that run together.
  const sources = { env: { ...env, PORT: undefined }, settingsText };
  try {
    const own: [OptionTable, object] = [settings.table, readOptions(settings.table, { ...sources, argv })];
    const others = settings.tables ?? [];
    return new Map([
      ...others.map((table): [OptionTable, object] => [table, readOptions(table, sources)]),
      own,
    ]);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw settingsErrors.setting_refused({ words: cause.message }, { cause });
  }
}

/** What a service itself refuses at its start. One that does not start as it is keeps nobody from other changes. */
async function refuseStart(
  { home, settings }: Pick<SettingsPlace, 'home' | 'settings'>,
  { before, values }: { before: string; values: ReadonlyMap<OptionTable, object> },
): Promise<void> {
  const context = {
    env: sourcesOf(home, settings).env,
    services: [...values.keys()].map(({ service }) => service),
  };
  for (const [table, after] of values) {
    const words = await problemAtStart(table, after, context);
    if (words === undefined) continue;
    const read = readOrNothing(() => refuseUnusable({ home, settings }, before).get(table));
    if (read === undefined || (await problemAtStart(table, read, context)) !== words)
      throw settingsErrors.setting_refused({ words });
  }
}

async function problemAtStart(
  table: OptionTable,
  values: object,
  context: StartContext,
): Promise<string | undefined> {
  try {
    await table.check?.(values, context);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

/** Settings that could not be read before this change started no service. */
function readOrNothing<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}

function refuseValue(variable: string, option: Option<unknown>, value: string): void {
  const text = value.trim();
  if (text === '' || isReference(text)) return;
  const reading = option.read(text);
  if ('value' in reading) return;
  const expected = option.secret ? option.expected : reading.expected;
  throw settingsErrors.setting_refused({ words: `${variable} cannot be this value; expected ${expected}.` });
}

function isReference(text: string): boolean {
  return /^\$\{secret:[^}]+\}$/.test(text);
}

function optionsOf(tables: readonly OptionTable[], variable: string): Option<unknown>[] {
  return tables.flatMap(({ options }) => Object.values(options).filter(({ env }) => env.includes(variable)));
}

export function variablesOf(tables: readonly OptionTable[]): string[] {
  return tables.flatMap(({ options }) => Object.values(options).flatMap(({ env }) => env));
}

function explained<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw settingsErrors.settings_unusable({ words: cause.message }, { cause });
  }
}

export function sourcesOf(home: string, { env, argv = [] }: SettingsPlace['settings']) {
  return { argv, env: { ...env, TRUNKLINE_HOME: home } };
}
