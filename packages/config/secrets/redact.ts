import { resolvedSecrets } from './references.ts';

// Compared without case, dashes and underscores: `X-Api-Key`, `apiKey` and `api_key` are one name.
const ENDINGS = [
  'authorization',
  'apikey',
  'apikeys',
  'token',
  'secret',
  'secrets',
  'password',
  'passwords',
  'passwd',
  'passphrase',
  'cookie',
  'cookies',
  'credential',
  'credentials',
  'privatekey',
  'secretkey',
  'accesskey',
  'signingkey',
];

const HIDDEN = '[redacted]';

// Shorter ones occur in ordinary words: hiding them would spoil the text and give them away.
const SHORTEST_SECRET = 3;

/** In answers, which strangers see: whatever is shorter may be a placeholder such as `none` or `ollama`. */
const SHORTEST_IN_ANSWERS = 8;

const CREDENTIALS_IN_URL = /:\/\/[^\s/?#"'<>\\]+@/g;

const CREDENTIALS_IN_QUERY =
  /([?&](?:api[_-]?key|key|access[_-]?token|token|secret|client[_-]?secret|password|signature|sig)=)[^\s&#"'<>\\]+/gi;

const CREDENTIALS_IN_HEADER = /\b((?:bearer|basic)\s+)[\w.~+/=-]{16,}/gi;
const SHORTEST_HEADER = 'basic '.length + 16;

const DEEPEST = 16;
// Keeps an object that drags a whole server behind it from stopping the program.
const MOST_VALUES = 10_000;

/** A text without the secrets that references gave in this process, and without what looks like one. */
export function hideSecrets(text: string): string {
  return hideKnown(text);
}

/** What one walk through a value carries along. */
type Walk = { hide: (text: string) => string; above: Set<object>; left: number };

/** A copy fit for logs: plain data, without secret fields, secret values and credentials in addresses. */
export function redact(value: unknown, secrets: Secrets = []): unknown {
  return createRedactor(secrets)(value);
}

/** As `redact`, prepared once for many values. */
export function createRedactor(secrets: Secrets): (value: unknown) => unknown {
  const hide = createTextHider(secrets);
  return (value) => copyOf(value, { hide, above: new Set(), left: MOST_VALUES });
}

function copyOf(value: unknown, walk: Walk): unknown {
  if (typeof value === 'string') return walk.hide(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (walk.above.has(value)) return '[circular]';
  if (walk.above.size >= DEEPEST || walk.left-- <= 0) return '[cut]';
  walk.above.add(value);
  try {
    return copyOfObject(value, walk);
  } catch {
    // A getter or toJSON that throws must not take the log line with it.
    return '[unreadable]';
  } finally {
    walk.above.delete(value);
  }
}

function copyOfObject(value: object, walk: Walk): unknown {
  if (Array.isArray(value)) return value.map((item) => copyOf(item, walk) ?? null);
  if (value instanceof Error) return copyOfFields(fieldsOfError(value), walk);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Headers) return copyOfFields(Object.fromEntries(value), walk);
  if (value instanceof Set) return [...value].map((item) => copyOf(item, walk));
  if ('toJSON' in value && typeof value.toJSON === 'function') return copyOf(value.toJSON(), walk);
  return copyOfFields(value, walk);
}

function copyOfFields(fields: object, walk: Walk): Record<string, unknown> {
  const copies = Object.entries(fields).map(([name, value]) => [
    walk.hide(name),
    copyOfField(name, value, walk),
  ]);
  return Object.fromEntries(copies);
}

function copyOfField(name: string, value: unknown, walk: Walk): unknown {
  const tells = value !== null && value !== undefined && value !== '' && typeof value !== 'boolean';
  if (tells && (isSecretName(name) || isListOfTokens(name, value))) return HIDDEN;
  return copyOf(value, walk);
}

// The parts that JSON would leave out, then what the error carries besides.
function fieldsOfError(error: Error): object {
  const { name, message, stack, cause } = error;
  const own: object = error;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  return {
    type: name,
    message,
    stack,
    ...(cause !== undefined && { cause }),
    ...(errors && { errors }),
    ...own,
  };
}

/** The secrets to hide. It may grow while the program runs: what is added is hidden from then on. */
export type Secrets = readonly string[] | ReadonlySet<string>;

/** Makes a function that hides every occurrence of a secret, the resolved references included, and what looks like one, in a text. */
export function createTextHider(secrets: Secrets): (text: string) => string {
  let count = -1;
  let spellings: string[] = [];
  return (text) => {
    const size = sizeOf(secrets) + resolvedSecrets.size;
    if (count !== size) {
      count = size;
      spellings = spellingsOf([...secrets, ...resolvedSecrets]);
    }
    return hidePatterns(hideSpellings(text, spellings));
  };
}

/**
 * As `createTextHider`, for a text that answers a request. What the request brought itself stays as it came: hiding it
 * would tell a stranger which of their guesses is a secret.
 */
export function createAnswerHider(secrets: Secrets): (text: string, brought: string) => string {
  return (text, brought) => {
    const unknown = [...secrets, ...resolvedSecrets].filter(
      (secret) =>
        secret.trim().length >= SHORTEST_IN_ANSWERS &&
        !spellingsOf([secret]).some((spelling) => brought.includes(spelling)),
    );
    return hidePatterns(hideSpellings(text, spellingsOf(unknown)));
  };
}

function sizeOf(secrets: Secrets): number {
  return 'size' in secrets ? secrets.size : secrets.length;
}

// A secret also shows up percent-encoded in addresses and escaped inside JSON.
function spellingsOf(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.trim().length >= SHORTEST_SECRET);
  const all = long.flatMap((secret) => [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    jsonSpelling(secret),
  ]);
  return [...new Set(all)];
}

function jsonSpelling(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

// Secrets may overlap in the text, so all places are found first and hidden together.
function hideSpellings(text: string, spellings: readonly string[]): string {
  const spans = spellings.flatMap((spelling) => spansOf(text, spelling));
  if (spans.length === 0) return text;
  let result = '';
  let end = 0;
  for (const [from, to] of spans.sort((left, right) => left[0] - right[0])) {
    if (from >= end) result += text.slice(end, from) + HIDDEN;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}

function spansOf(text: string, spelling: string): [from: number, to: number][] {
  const spans: [number, number][] = [];
  for (let from = text.indexOf(spelling); from !== -1; from = text.indexOf(spelling, from + 1)) {
    spans.push([from, from + spelling.length]);
  }
  return spans;
}

// Most texts lack the sign without which a form cannot be there.
function hidePatterns(text: string): string {
  let hidden = text;
  if (hidden.includes('@')) hidden = hidden.replace(CREDENTIALS_IN_URL, `://${HIDDEN}@`);
  if (hidden.includes('=')) hidden = hidden.replace(CREDENTIALS_IN_QUERY, `$1${HIDDEN}`);
  return mayHoldHeader(hidden) ? hidden.replace(CREDENTIALS_IN_HEADER, `$1${HIDDEN}`) : hidden;
}

/** A regular expression that ignores case costs more than a whole line of a log. */
function mayHoldHeader(text: string): boolean {
  if (text.length < SHORTEST_HEADER) return false;
  const lower = text.toLowerCase();
  return lower.includes('bearer') || lower.includes('basic');
}

/** Tells whether a field of this name holds a secret: `bot_token` does, `max_tokens` and `apiKeyEnv` do not. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return ENDINGS.some((ending) => plain.endsWith(ending));
}

/** Lists of tokens are secrets when they hold text; as numbers they are a model's usage. */
function isListOfTokens(name: string, value: unknown): boolean {
  if (!/tokens$/i.test(name)) return false;
  return (
    typeof value === 'string' || (Array.isArray(value) && value.some((item) => typeof item === 'string'))
  );
}

const hideKnown = createTextHider([]);
