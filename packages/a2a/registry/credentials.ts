import { type Environment, readVariable } from '@trunkline/config';
import { z } from 'zod';
import type { RemoteCredentials } from '../client/remote-agent.ts';

/** What a file yields: its entries, and words about what is missing around it. */
export interface Loaded<Entry> {
  entries: Entry[];
  /** Variables that are named but not set: the entries stand, but calls will be refused. */
  warnings: string[];
}

export const name = z.string().trim().min(1);
export const url = z.url({ protocol: /^https?$/ });
export const headers = z.record(z.string(), z.string());

export const auth = z.object({
  scheme: z.enum(['apiKey', 'bearer', 'hmac']),
  credentialsEnv: z.string().min(1),
});

export type Auth = z.output<typeof auth>;

const fields: Record<Auth['scheme'], keyof RemoteCredentials> = {
  apiKey: 'apiKey',
  bearer: 'bearer',
  hmac: 'hmacSecret',
};

/** Reads the variable that an entry names; says so when it is not set. */
export function readCredentials(
  owner: string,
  given: Auth | undefined,
  env: Environment,
  warnings: string[],
): { credentials?: RemoteCredentials } {
  if (given === undefined) return {};
  const value = readVariable(given.credentialsEnv, env);
  if (value !== undefined) return { credentials: { [fields[given.scheme]]: value } };
  warnings.push(`${owner}: the variable ${given.credentialsEnv} that holds its credential is not set`);
  return {};
}

/** For lists: every name may stand once. */
export function uniqueNames(entries: readonly { name: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  entries.forEach((entry, index) => {
    if (seen.has(entry.name)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `the name ${entry.name} stands twice`,
      });
    }
    seen.add(entry.name);
  });
}
