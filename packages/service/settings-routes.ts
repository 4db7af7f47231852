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
  readSettingsText,
  removeUnreferenced,
  type SecretStore,
  secretNameOf,
  secretReference,
  settingsPath,
} from '@trunkline/config';
import { type App, defineErrors, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { AuditRecorder, OperatorAccess } from '@trunkline/identity';
import { CodedError, type SettingsChange, type SettingsView } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { explainSecrets, secretErrors } from './secrets-routes.ts';

const errors = defineErrors({
  setting_refused: [400, ({ words }: { words: string }) => words],
  setting_fixed: [409, ({ words }: { words: string }) => words],
  settings_unusable: [409, ({ words }: { words: string }) => words],
});

const MOST_CHANGES = 100;
const LONGEST = 64 * 1024;

const body = z
  .record(z.string(), z.string().max(LONGEST).nullable())
  .refine((changes) => Object.keys(changes).length <= MOST_CHANGES, `at most ${MOST_CHANGES} at once`);

/** How the options of a service came to be, for those who show and change them. */
export interface SettingsContext {
  argv?: readonly string[] | undefined;
  /** The tables of all services of this process, whose values are checked too. */
  tables?: readonly OptionTable[];
  /** Why the newest settings do not count. */
  problem?(): string | undefined;
}

export interface SettingsDeps {
  service: string;
  /** TRUNKLINE_HOME. */
  home: string;
  operator: OperatorAccess;
  audit: AuditRecorder;
  secrets: SecretStore;
  settings: SettingsContext & { table: OptionTable; env?: Environment | undefined };
}

/** The options of the service, where their values come from, and the way to change them in settings.yaml. */
export function mountSettings<Caller>(app: App<Caller>, deps: SettingsDeps): void {
  app.use('/operator/settings', requireOperator(deps.operator));
  const { setting_refused, setting_fixed, settings_unusable } = errors;
  const show = describeRoute({
    summary: 'Every option of this service, its value, and where that comes from',
    errors: [settings_unusable],
  });
  app.get('/operator/settings', show, (context) => context.json(viewOf(deps)));
  const change = describeRoute({
    summary: 'Set options of any service in settings.yaml; null removes one. Services restart themselves',
    errors: [setting_refused, setting_fixed, settings_unusable, ...secretErrors],
  });
  app.patch('/operator/settings', change, validate('json', body), async (context) => {
    const changes = context.req.valid('json');
    await save(deps, changes);
    const subject = Object.keys(changes).join(', ');
    const principal = context.get('principal');
    deps.audit.record({
      service: deps.service,
      action: 'settings.change',
      subject,
      principal,
      result: 'done',
    });
    return context.json(viewOf(deps));
  });
}

function viewOf({ service, home, settings }: SettingsDeps): SettingsView {
  const file = settingsPath(home);
  return {
    service,
    file,
    settings: describeSettings(settings.table, sourcesOf(home, settings)),
    problem: problemOf(file, settings) ?? null,
  };
}

/** What is wrong with the file now, or with the last start by it. */
function problemOf(file: string, { table, problem }: SettingsDeps['settings']): string | undefined {
  try {
    parseSettings(readSettingsText(file) ?? '', file, variablesOf([table]));
    return problem?.();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

function sourcesOf(home: string, { env, argv = [] }: SettingsDeps['settings']) {
  return { argv, env: { ...env, TRUNKLINE_HOME: home } };
}

/** Checks everything before it writes anything. */
async function save({ home, settings, secrets }: SettingsDeps, changes: SettingsChange): Promise<void> {
  const file = settingsPath(home);
  const tables = [settings.table, ...(settings.tables ?? [])];
  refuseNames(tables, Object.keys(changes));
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
  await write(file, before, after);
  removeUnreferenced(before ?? '', after, { store: secrets, prefix: 'settings' });
}

async function write(file: string, before: string | undefined, after: string): Promise<void> {
  try {
    await writeFileAtomic(file, after, before === undefined ? { mode: 0o600 } : { over: before });
  } catch (cause) {
    if (!(cause instanceof CodedError)) throw cause;
    throw errors.settings_unusable({ words: cause.message }, { cause });
  }
}

function refuseNames(tables: readonly OptionTable[], variables: readonly string[]): void {
  const known = new Set([...knownVariables(), ...variablesOf(tables)]);
  const problems = variables.flatMap((variable) => problemWithName(variable, known) ?? []);
  if (problems.length > 0) throw errors.setting_refused({ words: `${problems.join('. ')}.` });
}

/** A value that another source overrides would be stored and never count. */
function refuseOverridden(
  { home, settings }: Pick<SettingsDeps, 'home' | 'settings'>,
  changes: SettingsChange,
): void {
  for (const table of [settings.table, ...(settings.tables ?? [])]) {
    for (const { variable, fixed } of describeSettings(table, sourcesOf(home, settings)))
      if (fixed !== null && typeof changes[variable] === 'string')
        throw errors.setting_fixed({ words: `${fixed}.` });
  }
}

function refuseValue(variable: string, option: Option<unknown>, value: string): void {
  const text = value.trim();
  if (text === '' || isReference(text)) return;
  const reading = option.read(text);
  if ('value' in reading) return;
  const expected = option.secret ? option.expected : reading.expected;
  throw errors.setting_refused({ words: `${variable} cannot be this value; expected ${expected}.` });
}

function isReference(text: string): boolean {
  return /^\$\{secret:[^}]+\}$/.test(text);
}

function optionsOf(tables: readonly OptionTable[], variable: string): Option<unknown>[] {
  return tables.flatMap(({ options }) => Object.values(options).filter(({ env }) => env.includes(variable)));
}

function variablesOf(tables: readonly OptionTable[]): string[] {
  return tables.flatMap(({ options }) => Object.values(options).flatMap(({ env }) => env));
}

function explained<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw errors.settings_unusable({ words: cause.message }, { cause });
  }
}
