import { text as textOf } from 'node:stream/consumers';
import { AuditLog } from '@trunkline/audit';
import {
  defineOptions,
  type Environment,
  helpText,
  homeOptions,
  readOptions,
  type SecretStore,
  SecretStoreError,
  secretStoreOf,
} from '@trunkline/config';
import { openTerminal } from '../init/terminal.ts';

const table = defineOptions('secret', 'Secrets: keys and tokens by name, encrypted', homeOptions);

const help = `Usage: trunkline secret COMMAND

  list               names, last change, last use and users; never values
  set NAME           store a secret, or give it another value: asked for, or read from standard input
  get NAME --show    print a value, in a terminal only
  remove NAME        forget a secret
  rotate-key         encrypt everything anew under another key
  import [--dry-run] move plain secrets of .env and of the YAML files into the store, and leave references

A variable, .env or a YAML file refers to a secret as \${secret:NAME}, for example LLM_API_KEY=\${secret:llm-api-key}.
The services read it when they need it: a new value counts without a restart wherever their files are reloaded.
The store is secrets.db in TRUNKLINE_HOME. Its key comes from TRUNKLINE_SECRETS_KEY, from the system's keyring, or from
a file that is created with the first secret; without the key nothing can be read, so keep a copy of it.
`;

/** Manages the stored secrets; no value is ever taken from or shown on a command line. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const flags = new Set(argv.filter((word) => word.startsWith('-')));
  const [command = '', ...words] = argv.filter((word) => !word.startsWith('-'));
  if (flags.has('--help') || flags.has('-h') || command === '' || command === 'help') {
    console.log(`${help}\n${helpText('npx trunkline secret COMMAND', table)}`);
    return command === '' && !flags.has('--help') && !flags.has('-h') ? 2 : 0;
  }
  const { trunklineHome: home } = readOptions(table, { env });
  const deps: Deps = { home, env, flags, words, store: secretStoreOf({ ...env, TRUNKLINE_HOME: home }) };
  const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (run === undefined) return complain(`There is no "trunkline secret ${command}".\n\n${help}`, 2);
  try {
    return await run(deps);
  } catch (error) {
    if (error instanceof SecretStoreError) return complain(error.message, 1);
    throw error;
  }
}

interface Deps {
  home: string;
  env: Environment;
  flags: ReadonlySet<string>;
  words: readonly string[];
  store: SecretStore;
}

const commands: Readonly<Record<string, (deps: Deps) => Promise<number> | number>> = {
  list,
  set,
  get,
  remove,
  'rotate-key': rotateKey,
  import: importPlain,
};

function list({ store }: Deps): number {
  const secrets = store.list();
  if (secrets.length === 0) console.log('No secret is stored. "npx trunkline secret set NAME" stores one.');
  for (const { name, changedAt, usedAt, users } of secrets) {
    console.log(
      `${name}  changed ${time(changedAt)}  ${usedAt === null ? 'never used' : `used ${time(usedAt)}`}`,
    );
    for (const { user } of users) console.log(`    ${user}`);
  }
  return 0;
}

async function set(deps: Deps): Promise<number> {
  const [name, ...more] = deps.words;
  if (name === undefined) return complain('Usage: trunkline secret set NAME', 2);
  if (more.length > 0) {
    const words =
      'A value on the command line shows in the history and to other programs: it was not stored.';
    return complain(
      `${words} Run "npx trunkline secret set ${name}" and type it, or send it through standard input.`,
      2,
    );
  }
  deps.store.set(name, await readValue(`Value of ${name} (not shown): `));
  record(deps, 'secret.set', name);
  console.log(`Stored. Refer to it as \${secret:${name}}.`);
  return 0;
}

function get({ words: [name], flags, store }: Deps): number {
  if (name === undefined || !flags.has('--show'))
    return complain('Usage: trunkline secret get NAME --show', 2);
  if (process.stdout.isTTY !== true) return complain('Values are shown in a terminal only.', 1);
  const value = store.get(name, 'trunkline secret get');
  if (value === undefined) return complain(`There is no secret ${name}.`, 1);
  console.log(value);
  return 0;
}

function remove(deps: Deps): number {
  const [name = ''] = deps.words;
  if (!deps.store.remove(name)) return complain(`There is no secret ${name}.`, 1);
  record(deps, 'secret.remove', name);
  console.log(`Removed ${name}. Whatever refers to it fails from its next reload on.`);
  return 0;
}

async function rotateKey(deps: Deps): Promise<number> {
  const { store, env } = deps;
  const inVariable = Boolean(env.TRUNKLINE_SECRETS_KEY?.trim());
  const given = inVariable
    ? await readValue('New key, at least 32 random characters (not shown): ')
    : undefined;
  store.rotateKey(given);
  record(deps, 'secret.rotate-key', store.keyPlace);
  const next = inVariable ? ' Set TRUNKLINE_SECRETS_KEY to the new one and restart the services.' : '';
  console.log(
    `Every secret is encrypted under a new key, in ${store.keyPlace}.${next} Backups need the old one.`,
  );
  return 0;
}

async function importPlain(deps: Deps): Promise<number> {
  // Names the settings of all four services, which the other commands need not load.
  const { findPlainSecrets, importOptions, importSecrets } = await import('../secrets/import-secrets.ts');
  const options = importOptions(deps.home, deps.env, deps.store);
  const found = findPlainSecrets(options);
  for (const { file, place, name } of found) console.log(`${file}: ${place} -> \${secret:${name}}`);
  if (found.length === 0) console.log('No plain secret stands in .env or in the files of the services.');
  if (found.length === 0 || deps.flags.has('--dry-run')) return 0;
  const copies = await importSecrets(found, options);
  for (const { name } of found) record(deps, 'secret.import', name);
  console.log(
    `Moved ${found.length} into the store. The files as they were are in ${copies}: delete it when all works.`,
  );
  return 0;
}

/** From standard input, or typed without being shown. */
async function readValue(question: string): Promise<string> {
  if (process.stdin.isTTY !== true) return (await textOf(process.stdin)).replace(/\r?\n$/, '');
  const terminal = openTerminal(process.stderr);
  try {
    return (await terminal.ask(question, { hidden: true })) ?? '';
  } finally {
    terminal.close();
  }
}

function record({ home }: Deps, action: string, subject: string): void {
  const log = new AuditLog({ home, logger: console });
  log.record({
    service: 'trunkline',
    action,
    subject,
    principal: { kind: 'operator', id: 'command line', via: [] },
    result: 'done',
  });
  log.close();
}

function time(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

function complain(words: string, code: number): number {
  console.error(words);
  return code;
}
