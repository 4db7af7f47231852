import { z } from 'zod';
import type { RosterSource } from './roster-source.ts';

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
