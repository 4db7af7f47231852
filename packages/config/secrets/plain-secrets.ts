import { randomBytes } from 'node:crypto';
import type { SecretStore } from '@trunkline/secrets';
import { isPair, isScalar, parseDocument, type Scalar, visit } from 'yaml';
import { changeEnvironmentFile } from '../environment/environment.ts';
import type { OptionTable } from '../options/option.ts';
import { isSecretName } from './redact.ts';
import { secretReference } from './references.ts';

/** Shorter values are placeholders. */
const MIN_LENGTH = 6;

/** The key of the store cannot be kept in the store. */
const NEVER = new Set(['TRUNKLINE_SECRETS_KEY']);

/** A secret that stands in a text as it is. */
export interface PlainSecret {
  /** The variable, or the keys that lead to it. */
  place: string;
  value: string;
}

/** Whether a value under a secret's name is one, and no reference or placeholder. */
function isPlainSecret(value: string): boolean {
  return value.length >= MIN_LENGTH && !value.includes('${');
}

/** A name for the store, made of words of any kind. */
export function secretNameOf(words: string): string {
  const name = words.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return name.replace(/^-|-$/g, '').slice(0, 90) || 'secret';
}

/** The texts under keys that name a secret. A text that is no YAML has none. */
export function plainSecretsIn(text: string): PlainSecret[] {
  return nodesIn(text).map(({ place, value }) => ({ place, value }));
}

/** The variables of an environment file that hold a secret as it is: secret options of the tables, and whatever is named like one. */
export function plainVariables(text: string, file: string, tables: readonly OptionTable[]): PlainSecret[] {
  const all = tables.flatMap(({ options }) => Object.values(options));
  const secret = new Set(all.filter((option) => option.secret).flatMap(({ env }) => env));
  const open = new Set(all.filter((option) => !option.secret).flatMap(({ env }) => env));
  const isSecret = (name: string) =>
    !NEVER.has(name) && (secret.has(name) || (isSecretName(name) && !open.has(name)));
  const found: PlainSecret[] = [];
  changeEnvironmentFile(text, file, (place, value) => {
    if (isSecret(place) && isPlainSecret(value)) found.unshift({ place, value });
    return undefined;
  });
  return found;
}

/** The text with references in place of the secrets that get a name; all else stays as written. */
export function withReferences(text: string, nameFor: (secret: PlainSecret) => string | undefined): string {
  return nodesIn(text).reduceRight((whole, { place, value, node }) => {
    const [from, to] = node.range ?? [];
    if (from === undefined || to === undefined) return whole;
    const name = nameFor({ place, value });
    if (name === undefined) return whole;
    const end = whole.slice(from, to).endsWith('\n') ? '\n' : '';
    return `${whole.slice(0, from)}"${secretReference(name)}"${end}${whole.slice(to)}`;
  }, text);
}

/**
 * Puts the secrets of a text that were not in the text before into the store, and gives the text with references. Each
 * gets a name of its own, so that undoing the change brings the value back too.
 */
export function storePlainSecrets(
  text: string,
  { store, prefix, before = '' }: { store: SecretStore; prefix: string; before?: string },
): string {
  const known = new Set(plainSecretsIn(before).map(({ place, value }) => `${place}\0${value}`));
  return withReferences(text, ({ place, value }) => {
    if (known.has(`${place}\0${value}`)) return undefined;
    const name = `${secretNameOf(`${prefix}-${place}`)}-${randomBytes(3).toString('hex')}`;
    store.set(name, value);
    return name;
  });
}

/** Removes what `storePlainSecrets` stored under this prefix, the text no longer refers to, and no other file uses. */
export function removeUnreferenced(
  before: string,
  after: string,
  { store, prefix }: { store: SecretStore; prefix: string },
): void {
  const isOurs = (name: string) => name.startsWith(`${secretNameOf(prefix)}-`) && /-[0-9a-f]{6}$/.test(name);
  const names = new Set([...before.matchAll(/\$\{secret:([\w.-]+)\}/g)].map(([, name = '']) => name));
  const gone = [...names].filter((name) => isOurs(name) && !after.includes(secretReference(name)));
  if (gone.length === 0) return;
  const files = new Map(
    store.list().map(({ name, users }) => [name, new Set(users.map(({ user }) => user.split(': ')[0]))]),
  );
  for (const name of gone) if ((files.get(name)?.size ?? 0) <= 1) store.remove(name);
}

interface SecretNode extends PlainSecret {
  node: Scalar;
}

function nodesIn(text: string): SecretNode[] {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const found: SecretNode[] = [];
  if (document.errors.length > 0) return found;
  visit(document, {
    Scalar(role, node, path) {
      if (role === 'key' || typeof node.value !== 'string' || !isPlainSecret(node.value)) return;
      const keys = path.flatMap((step) =>
        isPair(step) && isScalar(step.key) ? [String(step.key.value)] : [],
      );
      if (isPair(path.at(-1)) && isSecretName(keys.at(-1) ?? ''))
        found.push({ place: placeOf(keys, path), value: node.value, node });
    },
  });
  return found;
}

/** Items of lists are named by their name where they have one. */
function placeOf(keys: readonly string[], path: readonly unknown[]): string {
  const names = path.flatMap((step) => {
    const name =
      typeof step === 'object' && step !== null && 'get' in step ? (step as Named).get('name') : undefined;
    return typeof name === 'string' ? [name] : [];
  });
  return [...new Set([...keys.slice(0, -1), ...names, ...keys.slice(-1)])].join('.');
}

type Named = { get(key: string): unknown };
