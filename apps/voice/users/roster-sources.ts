import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@trunkline/config';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { isMissingFile } from '../store/reload.ts';
import type { RosterText } from './roster.ts';

export interface SecretsSourceOptions {
  apiUrl: string;
  clientId: string;
  clientSecret: string;
  projectId: string;
  environment: string;
  secretPath: string;
  timeoutMs?: number;
}

const secretName = 'USERS_YAML';
const loginSchema = z.object({ accessToken: z.string().min(1) });
const secretSchema = z.object({ secret: z.object({ secretValue: z.string() }) });

/** The roster as a secret of a secrets manager with Infisical's API. */
export function createSecretsSource(options: SecretsSourceOptions): RosterSource {
  const name = `secret ${secretName}`;
  return {
    origin: 'secrets_manager',
    name,
    async read() {
      const { accessToken } = await logIn(options);
      const { secret } = await fetchSecret(options, accessToken);
      return { text: secret.secretValue, file: name, expand: false };
    },
  };
}

function logIn({ clientId, clientSecret, ...options }: SecretsSourceOptions) {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret }),
  };
  return call(options, '/api/v1/auth/universal-auth/login', request, loginSchema);
}

function fetchSecret(options: SecretsSourceOptions, accessToken: string) {
  const { projectId, environment, secretPath } = options;
  const query = new URLSearchParams({ workspaceId: projectId, environment, secretPath });
  const request = { headers: { authorization: `Bearer ${accessToken}` } };
  return call(options, `/api/v3/secrets/raw/${secretName}?${query}`, request, secretSchema);
}

/** Errors name the step and the status, never what was sent or came back. */
async function call<Schema extends z.ZodType>(
  { apiUrl, timeoutMs = 10_000 }: Pick<SecretsSourceOptions, 'apiUrl' | 'timeoutMs'>,
  path: string,
  request: RequestInit,
  schema: Schema,
): Promise<z.output<Schema>> {
  const step = path.startsWith('/api/v1/') ? 'the login' : secretName;
  const url = `${apiUrl.replace(/\/+$/, '')}${path}`;
  const response = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) }).catch(
    (cause: unknown) => {
      throw new Error(`The secrets manager did not answer ${step}; check SECRETS_API_URL.`, { cause });
    },
  );
  if (!response.ok) throw new Error(`The secrets manager answered ${response.status} to ${step}.`);
  const parsed = schema.safeParse(await response.json());
  if (!parsed.success) throw new Error(`The secrets manager's answer to ${step} is not understood.`);
  return parsed.data;
}

export type RosterOrigin = 'secrets_manager' | 'file';

/** A place where the roster may stand. */
export interface RosterSource {
  readonly origin: RosterOrigin;
  /** The file or the secret, as errors name it. */
  readonly name: string;
  /** The text of the roster, or undefined where there is none; throws when it cannot be read. */
  read(): Promise<RosterText | undefined>;
}

/** The roster in a file; `${VAR}` in it stands for a variable. */
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

/** A file that records that this service was given a roster. */
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
