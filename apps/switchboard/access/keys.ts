import { createHash } from 'node:crypto';
import { checkPattern } from '@trunkline/bus';
import {
  ConfigError,
  type Environment,
  type Logger,
  loadYaml,
  readVariable,
  watchYaml,
} from '@trunkline/config';
import { createKeyring, isLoopbackHost, type KeyFacts, type Keyring, keyFacts } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { type Caller, guest, operator } from './caller.ts';

const pattern = z.string().superRefine((text, context) => {
  try {
    checkPattern(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: errorMessage(error) });
  }
});

const keySchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'a name of letters, digits, - and _')
    .refine(
      (name) => name !== guest.name,
      `${guest.name} stands for whoever has no key; choose another name`,
    ),
  envKey: z.string().min(1),
  publish: z.array(pattern).default([]),
  subscribe: z.array(pattern).default([]),
  admin: z.boolean().default(false),
});

export const keysSchema = z.strictObject({ keys: z.array(keySchema).default([]) }).default({ keys: [] });

type KeysFile = z.output<typeof keysSchema> | undefined;

export interface KeySettings {
  file: string;
  adminKey: string | undefined;
  host: string;
  /** TRUNKLINE_OPEN: while no key is set, everybody is the operator. */
  isOpen: boolean;
  env: Environment;
  logger: Logger;
  hide: ((secret: string) => void) | undefined;
  onProblem: (file: string, error: Error | undefined) => void;
  /** Called with the callers of keys.yaml whenever it was read. */
  onListed?: (callers: readonly Caller[]) => void;
}

export interface Keys {
  keyring(): Keyring<Caller>;
  /** Keys of keys.yaml, by the names of their callers. */
  listed(): Readonly<Record<string, KeyFacts>>;
  /** The caller while no key is set, on loopback only: a guest, or the operator under TRUNKLINE_OPEN. */
  openCaller(): Caller | undefined;
  /** Calls back when the key of a caller is revoked or its rights change; returns a function that stops it. */
  onRevoked(caller: Caller, listener: () => void): () => void;
  close(): Promise<void>;
}

/** Reads and follows the keys. Throws when the service would be reachable from other machines without a key. */
export async function openKeys(settings: KeySettings): Promise<Keys> {
  const { file, host, isOpen, logger } = settings;
  // An object of its own, so that its connections end when the first key is set.
  const anyone: Caller = isOpen ? { ...operator } : { ...guest };
  const listeners = new Map<Caller, Set<() => void>>();
  let callers: ReadonlyMap<string, Caller> = new Map();
  let keyring = createKeyring<Caller>([]);
  let listed: Record<string, KeyFacts> = {};
  const take = (content: KeysFile) => {
    const given = entriesOf(content, settings, callers);
    const before = keyring.size === 0 ? [anyone] : [...callers.values()];
    callers = new Map(given.map(({ key, caller }) => [hashOf(key), caller]));
    keyring = createKeyring(given);
    listed = listedKeys(content?.keys ?? [], settings.env);
    settings.onListed?.([...callers.values()].filter((caller) => caller !== operator));
    const valid = new Set(keyring.size === 0 ? [anyone] : callers.values());
    for (const caller of before) if (!valid.has(caller)) revoke(caller, listeners, logger);
  };
  const watch = await watchYaml(file, keysSchema, {
    allowMissing: true,
    expand: false,
    onChange: (content) => {
      take(content);
      settings.onProblem(file, undefined);
    },
    onError: (error) => settings.onProblem(file, error),
  });
  take(watch.value);
  try {
    checkExposure(host, keyring.size, logger);
  } catch (error) {
    await watch.close();
    throw error;
  }
  return {
    keyring: () => keyring,
    listed: () => listed,
    openCaller: () => (isLoopbackHost(host) ? anyone : undefined),
    onRevoked(caller, listener) {
      const known = listeners.get(caller) ?? new Set();
      listeners.set(caller, known.add(listener));
      return () => {
        known.delete(listener);
        if (known.size === 0) listeners.delete(caller);
      };
    },
    close: () => watch.close(),
  };
}

/** Keys of keys.yaml whose variable is set, by the names of their callers; with the variable where two have one name. */
export function listedKeys(
  keys: readonly { name: string; envKey: string }[],
  env: Environment,
): Record<string, KeyFacts> {
  const labelOf = ({ name, envKey }: { name: string; envKey: string }) =>
    keys.filter((other) => other.name === name).length > 1 ? `${name} (${envKey})` : name;
  const found = keys.map((each) => ({
    name: labelOf(each),
    key: readVariable(each.envKey, env)?.trim(),
  }));
  return Object.fromEntries(found.flatMap(({ name, key }) => (key ? [[name, keyFacts(key)]] : [])));
}

function revoke(caller: Caller, listeners: Map<Caller, Set<() => void>>, logger: Logger): void {
  const open = [...(listeners.get(caller) ?? [])];
  listeners.delete(caller);
  logger.info({ key: caller.name, connections: open.length }, 'key revoked or changed');
  for (const end of open) end();
}

/** The first of two equal keys wins. A key whose rights stay the same keeps its caller, so that its connections stay open. */
function entriesOf(
  content: KeysFile,
  { adminKey, env, logger, hide }: Pick<KeySettings, 'adminKey' | 'env'> & Partial<KeySettings>,
  known: ReadonlyMap<string, Caller>,
): { key: string; caller: Caller }[] {
  const scoped = (content?.keys ?? []).map(({ envKey, ...rights }) => {
    const key = readVariable(envKey, env);
    if (key === undefined)
      logger?.warn(
        { key: rights.name, variable: envKey },
        'key of keys.yaml ignored: its variable is not set',
      );
    else hide?.(key);
    const caller: Caller = rights.admin ? { ...operator, name: rights.name } : rights;
    return { key, caller };
  });
  const given = [{ key: adminKey, caller: operator }, ...scoped];
  const entries = new Map<string, { key: string; caller: Caller }>();
  for (const { key, caller } of given) {
    if (key === undefined || key.trim() === '' || entries.has(hashOf(key))) continue;
    const before = known.get(hashOf(key));
    const isSame = JSON.stringify(before) === JSON.stringify(caller);
    entries.set(hashOf(key), { key, caller: before !== undefined && isSame ? before : caller });
  }
  return [...entries.values()];
}

function hashOf(key: string): string {
  return createHash('sha256').update(key.trim()).digest('hex');
}

/** Refuses settings with which `openKeys` fails. */
export async function checkKeys(
  settings: Pick<KeySettings, 'file' | 'host' | 'adminKey' | 'env'>,
): Promise<void> {
  if (isLoopbackHost(settings.host)) return;
  const content = await loadYaml(settings.file, keysSchema, { allowMissing: true, expand: false });
  refuseExposure(settings.host, entriesOf(content, settings, new Map()).length);
}

function refuseExposure(host: string, keys: number): void {
  if (keys > 0 || isLoopbackHost(host)) return;
  throw new ConfigError('The switchboard does not start:', [
    `it would listen on ${host} with no key set; set SWITCHBOARD_API_KEY, or SWITCHBOARD_HOST to 127.0.0.1`,
  ]);
}

function checkExposure(host: string, keys: number, logger: Logger): void {
  refuseExposure(host, keys);
  if (keys > 0) return;
  logger.warn(
    { host, opens: ['SWITCHBOARD_API_KEY'] },
    'everyone on this machine may ask agents and read what goes over the switchboard; set SWITCHBOARD_API_KEY to close it',
  );
}
