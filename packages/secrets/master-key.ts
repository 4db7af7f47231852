import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { readOrCreateSecret } from '@trunkline/identity';
import { CodedError, errorMessage, systemCode } from '@trunkline/std';

/** Variables by name; the caller hands them in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the key of the store is kept. A staged key is one that a rotation has written and not yet put in place. */
export interface MasterKey {
  /** As it stands in error texts. */
  readonly place: string;
  read(): string | undefined;
  /** Only for a store that does not exist yet. */
  create(): string;
  staged(): string | undefined;
  /** Undefined where only the operator can change the key. */
  stage: ((key: string) => void) | undefined;
  /** Puts the staged key in place. */
  promote(): void;
}

/** The variables that choose the key. */
export const keyVariables = {
  key: 'TRUNKLINE_SECRETS_KEY',
  file: 'TRUNKLINE_SECRETS_KEY_FILE',
  keyring: 'TRUNKLINE_SECRETS_KEYRING',
} as const;

const MIN_LENGTH = 32;
const MIN_DIFFERENT = 8;

/** The key that the variables choose: the variable itself, the system's keyring, or a file. */
export function masterKey(home: string, env: Environment): MasterKey {
  const given = env[keyVariables.key]?.trim();
  if (given) return variableKey(given);
  if (/^(1|true|yes|on)$/i.test(env[keyVariables.keyring]?.trim() ?? '')) return keyringKey(home, env);
  const file = env[keyVariables.file]?.trim().replace(/^~(?=\/)/, homedir());
  return fileKey(resolve(file || join(home, 'secrets-key')));
}

/** Throws for a key that can be guessed. */
export function checkKey(key: string, place: string): string {
  if (key.length >= MIN_LENGTH && new Set(key).size >= MIN_DIFFERENT) return key;
  const words = `The key in ${place} is too weak: it needs at least ${MIN_LENGTH} characters, ${MIN_DIFFERENT} of them different. Take a random one, for example from "openssl rand -base64 32".`;
  throw new SecretStoreError('secrets_key_weak', words);
}

function variableKey(key: string): MasterKey {
  return {
    place: keyVariables.key,
    read: () => key,
    create: () => key,
    staged: () => undefined,
    stage: undefined,
    promote: () => undefined,
  };
}

function fileKey(path: string): MasterKey {
  const next = `${path}.new`;
  return {
    place: path,
    read: () => readKeyFile(path),
    create() {
      if (!existsSync(path)) return readOrCreateSecret(dirname(path), basename(path));
      return readKeyFile(path) ?? '';
    },
    staged: () => readKeyFile(next),
    stage(key) {
      rmSync(next, { force: true });
      writeFileSync(next, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
    },
    promote: () => renameSync(next, path),
  };
}

function readKeyFile(path: string): string | undefined {
  try {
    const key = readFileSync(path, 'utf8').trim();
    closeToOthers(path);
    return key === '' ? undefined : key;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    const words = `The key of the secrets, ${path}, cannot be read: ${errorMessage(error)}. ${keyVariables.file} names another file.`;
    throw new SecretStoreError('secrets_key_missing', words, { cause: error });
  }
}

/** A file that somebody else provides, such as a container's secret, keeps its mode. */
function closeToOthers(path: string): void {
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) {
    try {
      chmodSync(path, 0o600);
    } catch (error) {
      if (systemCode(error) !== 'EROFS') throw error;
    }
  }
}

/** Asking the keyring starts a program, so a key is asked for once, and again when it no longer fits. */
const fromKeyring = new Map<string, string>();

function keyringKey(home: string, env: Environment): MasterKey {
  const account = createHash('sha256').update(resolve(home)).digest('hex').slice(0, 16);
  const keyring = process.platform === 'darwin' ? macKeychain(env) : secretService(env);
  const current = `secrets-key-${account}`;
  const next = `${current}-new`;
  return {
    place: `the system's keyring (${keyVariables.keyring})`,
    read() {
      const known = fromKeyring.get(current) ?? keyring.lookup(current);
      if (known !== undefined) fromKeyring.set(current, known);
      return known;
    },
    create() {
      const known = keyring.lookup(current);
      if (known !== undefined) return known;
      keyring.store(current, randomBytes(32).toString('base64url'));
      return keyring.lookup(current) ?? '';
    },
    staged() {
      // Another process may have changed the key since it was remembered.
      fromKeyring.delete(current);
      return keyring.lookup(next) ?? keyring.lookup(current);
    },
    stage: (key) => keyring.store(next, key),
    promote() {
      const key = keyring.lookup(next);
      if (key !== undefined) keyring.store(current, key);
      keyring.clear(next);
      fromKeyring.delete(current);
    },
  };
}

interface Keyring {
  lookup(account: string): string | undefined;
  store(account: string, key: string): void;
  clear(account: string): void;
}

/** Freedesktop's secret service, by the `secret-tool` of libsecret; a key goes through standard input only. */
function secretService(env: Environment): Keyring {
  const attributes = (account: string) => ['service', 'trunkline', 'account', account];
  const run = (words: string[], input?: string) => runTool('secret-tool', words, env, input);
  return {
    lookup: (account) => found(run(['lookup', ...attributes(account)])),
    store(account, key) {
      requireSuccess(run(['store', '--label=Trunkline secrets', ...attributes(account)], key));
    },
    clear: (account) => void run(['clear', ...attributes(account)]),
  };
}

/** The keychain of macOS; commands go through standard input, so that no key stands on a command line. */
function macKeychain(env: Environment): Keyring {
  const item = (account: string) => ['-s', 'trunkline', '-a', account];
  return {
    lookup: (account) => found(runTool('security', ['find-generic-password', ...item(account), '-w'], env)),
    store(account, key) {
      const command = `add-generic-password -U ${item(account).join(' ')} -w ${key}\n`;
      requireSuccess(runTool('security', ['-i'], env, command));
    },
    clear: (account) => void runTool('security', ['delete-generic-password', ...item(account)], env),
  };
}

interface ToolResult {
  program: string;
  status: number | null;
  output: string;
  message: string;
}

/** A person may have to unlock the keyring. */
const TOOL_LIMIT_MS = 60_000;

function runTool(program: string, words: string[], env: Environment, input = ''): ToolResult {
  const done = spawnSync(program, words, { env, input, encoding: 'utf8', timeout: TOOL_LIMIT_MS });
  if (done.error !== undefined) {
    const reason =
      systemCode(done.error) === 'ENOENT' ? `there is no program ${program}` : errorMessage(done.error);
    throw keyringError(reason, done.error);
  }
  return { program, status: done.status, output: done.stdout.trim(), message: done.stderr.trim() };
}

/** Both tools end with a failure and without words, or with "could not be found", for what is not there. */
function found({ program, status, output, message }: ToolResult): string | undefined {
  if (status === 0) return output === '' ? undefined : output;
  if (message === '' || message.includes('could not be found')) return undefined;
  throw keyringError(`${program} says ${message}`);
}

function requireSuccess({ program, status, message }: ToolResult): void {
  if (status !== 0) throw keyringError(`${program} says ${message || `exit code ${status}`}`);
}

function keyringError(reason: string, cause?: unknown): SecretStoreError {
  const words = `The system's keyring cannot be used: ${reason}. Unlock it, or unset ${keyVariables.keyring} and keep the key in ${keyVariables.file}.`;
  return new SecretStoreError('secrets_key_missing', words, { cause });
}

type SecretStoreErrorCode =
  | 'secrets_key_missing'
  | 'secrets_key_wrong'
  | 'secrets_key_weak'
  | 'secrets_damaged'
  | 'secrets_unusable'
  | 'secret_refused';

/** Says what to do, and names the variable or the file. */
export class SecretStoreError extends CodedError<SecretStoreErrorCode> {
  override readonly name = 'SecretStoreError';
}
