import { createTextHider, HIDDEN, type Secrets } from './hide-text.ts';
import { isListOfTokens, isSecretName } from './secret-name.ts';

const DEEPEST = 16;
// Keeps an object that drags a whole server behind it from stopping the program.
const MOST_VALUES = 10_000;

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
