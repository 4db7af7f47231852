import { checkPattern } from '@trunkline/bus';
import { ConfigError, type Environment, type Logger, readVariable, watchYaml } from '@trunkline/config';
import { createKeyring, type Keyring } from '@trunkline/http';
import { z } from 'zod';
import { type Caller, operator } from './caller.ts';

const pattern = z.string().superRefine((text, context) => {
  try {
    checkPattern(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
  }
});

const keySchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'a name of letters, digits, - and _'),
  envKey: z.string().min(1),
  publish: z.array(pattern).default([]),
  subscribe: z.array(pattern).default([]),
  admin: z.boolean().default(false),
});

const keysSchema = z.strictObject({ keys: z.array(keySchema).default([]) }).default({ keys: [] });

type KeysFile = z.output<typeof keysSchema> | undefined;

export interface KeySettings {
  /** `keys.yaml`; need not exist. */
  file: string;
  adminKey: string | undefined;
  host: string;
  env: Environment;
  logger: Logger;
  hide: ((secret: string) => void) | undefined;
  onProblem: (file: string, error: Error | undefined) => void;
}

/** The keys in force, followed while the service runs. */
export interface Keys {
  keyring(): Keyring<Caller>;
  /** The caller while no key is set: the operator, and only on a loopback address. */
  openCaller(): Caller | undefined;
  close(): Promise<void>;
}

/** Reads the keys and refuses to serve others than this machine without one. */
export async function openKeys(settings: KeySettings): Promise<Keys> {
  const { file, host, logger } = settings;
  let keyring = createKeyring<Caller>([]);
  const take = (content: KeysFile) => {
    keyring = keyringOf(content, settings);
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
    openCaller: () => (isLoopback(host) ? operator : undefined),
    close: () => watch.close(),
  };
}

function keyringOf(content: KeysFile, { adminKey, env, logger, hide }: KeySettings): Keyring<Caller> {
  const scoped = (content?.keys ?? []).map(({ envKey, ...rights }) => {
    const key = readVariable(envKey, env);
    if (key === undefined) logger.warn({ key: rights.name }, `keys.yaml: the variable ${envKey} is not set`);
    else hide?.(key);
    const caller: Caller = rights.admin ? { ...operator, name: rights.name } : rights;
    return { key, caller };
  });
  const given = [{ key: adminKey, caller: operator }, ...scoped];
  return createKeyring(given);
}

function checkExposure(host: string, keys: number, logger: Logger): void {
  if (keys > 0) return;
  if (!isLoopback(host)) {
    throw new ConfigError('The switchboard does not start:', [
      `it would listen on ${host} with no key set; set SWITCHBOARD_API_KEY, or SWITCHBOARD_HOST to 127.0.0.1`,
    ]);
  }
  logger.warn(
    { host },
    'everyone on this machine may use the switchboard; set SWITCHBOARD_API_KEY to close it',
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
