import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { type Environment, masterKey, SecretStore, SecretStoreError } from '@trunkline/secrets';
import { absolutePath } from '../options/makers.ts';

const REFERENCE = /\$\{secret:([^}]*)\}/g;

/** What every reference gave in this process; logs and errors hide them. */
export const resolvedSecrets = new Set<string>();

/** The secrets of the installation that an environment belongs to. */
export function secretStoreOf(env: Environment = process.env): SecretStore {
  const home = homeOf(env);
  return new SecretStore({ home, key: masterKey(home, env) });
}

export const defaultHome = join(homedir(), '.trunkline');

function homeOf(env: Environment): string {
  const given = env.TRUNKLINE_HOME?.trim();
  return given ? absolutePath(given) : defaultHome;
}

export function namesSecret(text: string): boolean {
  return text.includes(`\${secret:`);
}

/** The text that stands in a file or variable for a secret. */
export function secretReference(name: string): string {
  return `\${secret:${name}}`;
}

export type Resolution = { readonly value: string } | { readonly problem: string };

/** A value, what is wrong, or what to say where nothing stands in for one that is not set. */
export type Found = Resolution | { readonly unset: string };

/** One secret; `user` is the variable or the place in a file that needs it. */
export function resolveSecret(name: string, env: Environment, user: string): Found {
  try {
    const value = secretStoreOf(env).get(name, shortened(user, homeOf(env)));
    if (value === undefined)
      return { unset: `there is no secret ${name}; set it: npx trunkline secret set ${name}` };
    resolvedSecrets.add(value);
    return { value };
  } catch (error) {
    if (error instanceof SecretStoreError) return { problem: error.message };
    throw error;
  }
}

/** A text with secrets in place of `${secret:name}`, or the first thing that is wrong. */
export function resolveReferences(text: string, env: Environment, user: string): Resolution {
  let problem: string | undefined;
  const value = text.replace(REFERENCE, (_, name: string) => {
    const found = resolveSecret(name, env, user);
    if ('value' in found) return found.value;
    problem ??= 'problem' in found ? found.problem : found.unset;
    return '';
  });
  return problem === undefined ? { value } : { problem };
}

/** Files of the home are named from there on. */
function shortened(user: string, home: string): string {
  const inside = relative(home, user);
  return user.startsWith('/') && !inside.startsWith('..') ? inside : user;
}
