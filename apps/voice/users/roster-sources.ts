import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment, Logger } from '@trunkline/config';
import { limitBody } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import type { VoiceOptions } from '../options.ts';
import { isMissingFile } from '../store/reload.ts';
import type { RosterText } from './roster.ts';

type SecretsOptions = Pick<
  VoiceOptions,
  | 'secretsApiUrl'
  | 'secretsClientId'
  | 'secretsClientSecret'
  | 'secretsProjectId'
  | 'secretsEnvironment'
  | 'secretsPath'
>;

const secretName = 'USERS_YAML';
const largestBytes = 16 * 2 ** 20;
const loginSchema = z.object({ accessToken: z.string().min(1) });
const secretSchema = z.object({ secret: z.object({ secretValue: z.string() }) });

/** The secrets manager, if it is fully configured. */
export function configuredSecrets(options: SecretsOptions, logger: Logger): RosterSource | undefined {
  const { secretsClientId, secretsClientSecret, secretsProjectId } = options;
  const given = [secretsClientId, secretsClientSecret, secretsProjectId].filter(
    (value) => value !== undefined,
  );
  if (given.length === 3) return createSecretsSource(options);
  if (given.length > 0)
    logger.warn(
      {},
      'secrets manager needs SECRETS_CLIENT_ID, SECRETS_CLIENT_SECRET and SECRETS_PROJECT_ID; using users.yaml',
    );
  return undefined;
}

/** The roster as a secret of a secrets manager with Infisical's API. */
export function createSecretsSource(options: SecretsOptions, timeoutMs = 10_000): RosterSource {
  const name = `secret ${secretName}`;
  const base = options.secretsApiUrl.replace(/\/+$/, '');
  const call = <Schema extends z.ZodType>(step: string, path: string, request: RequestInit, schema: Schema) =>
    callManager(step, `${base}${path}`, { ...request, signal: AbortSignal.timeout(timeoutMs) }, schema);
  return {
    origin: 'secrets_manager',
    name,
    async read() {
      const { secretsClientId: clientId, secretsClientSecret: clientSecret } = options;
      const login = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ clientId, clientSecret }),
      };
      const { accessToken } = await call(
        'the login',
        '/api/v1/auth/universal-auth/login',
        login,
        loginSchema,
      );
      const query = new URLSearchParams({
        workspaceId: options.secretsProjectId ?? '',
        environment: options.secretsEnvironment,
        secretPath: options.secretsPath,
      });
      const path = `/api/v3/secrets/raw/${secretName}?${query}`;
      const headers = { authorization: `Bearer ${accessToken}` };
      const { secret } = await call(secretName, path, { headers }, secretSchema);
      return { text: secret.secretValue, file: name, expand: false };
    },
  };
}

/** Errors name the step and the status, never what was sent or came back. */
async function callManager<Schema extends z.ZodType>(
  step: string,
  url: string,
  request: RequestInit,
  schema: Schema,
): Promise<z.output<Schema>> {
  // The login is for this address alone.
  const response = await fetch(url, { ...request, redirect: 'manual' }).catch((cause: unknown) => {
    throw new Error(`The secrets manager did not answer ${step}; check SECRETS_API_URL.`, { cause });
  });
  if (!response.ok) throw new Error(`The secrets manager answered ${response.status} to ${step}.`);
  const parsed = schema.safeParse(await limitBody(response, { maxBytes: largestBytes }).json());
  if (!parsed.success) throw new Error(`The secrets manager's answer to ${step} is not understood.`);
  return parsed.data;
}

export type RosterOrigin = 'secrets_manager' | 'file';

export interface RosterSource {
  readonly origin: RosterOrigin;
  /** The file or the secret, as errors name it. */
  readonly name: string;
  /** Undefined if there is none; throws if it cannot be read. */
  read(): Promise<RosterText | undefined>;
}

/** A file in which `${VAR}` stands for a variable. */
export function createFileSource(path: string, env: Environment): RosterSource {
  return {
    origin: 'file',
    name: path,
    async read() {
      try {
        return { text: await readFile(path, 'utf8'), file: path, expand: true, env };
      } catch (error) {
        if (isMissingFile(error)) return undefined;
        throw error;
      }
    },
  };
}

/** A file that records that a roster was configured. */
export interface RosterMarker {
  readonly path: string;
  exists(): Promise<boolean>;
  write(roster: string): Promise<void>;
}

/**
 * Kept in the data folder, so that a roster that is lost later closes the service, across restarts too. Without it a
 * deleted `users.yaml` would look like a service that never had one, where everybody is admin.
 */
export function createRosterMarker(directory: string): RosterMarker {
  const path = join(directory, 'roster-configured');
  return {
    path,
    async exists() {
      try {
        await stat(path);
        return true;
      } catch (error) {
        if (isMissingFile(error)) return false;
        throw error;
      }
    },
    async write(roster) {
      const words = `This service asks for keys since it was given a roster of users (${roster}).
While this file is here, a roster that is missing, empty or broken lets nobody in.
Delete it together with the roster to go back to single-user mode, where everybody is admin.
`;
      await writeFileAtomic(path, words);
    },
  };
}
