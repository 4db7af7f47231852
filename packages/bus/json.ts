import { BusError } from './errors.ts';

const maximumDepth = 100;

/**
 * A deeply frozen copy of a JSON value, so that nobody can change a message under another's hands.
 * Throws, naming the place, at whatever JSON cannot carry; properties that are undefined are left out.
 */
export function frozenCopy(value: unknown, path: string, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : refuse(path, String(value));
    case 'object':
      return value === null ? null : copyObject(value, path, depth);
    default:
      return refuse(path, value === undefined ? 'undefined' : `a ${typeof value}`);
  }
}

/** Freezes a value that came from JSON text, with everything inside it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

function copyObject(value: object, path: string, depth: number): unknown {
  if (depth >= maximumDepth) refuse(path, `circular or nested deeper than ${maximumDepth} levels`);
  if (Array.isArray(value)) {
    return Object.freeze(
      Array.from(value, (part, index) => frozenCopy(part, `${path}[${index}]`, depth + 1)),
    );
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse(path, kindOf(value));
  return copyProperties(value as Record<string, unknown>, path, depth);
}

function copyProperties(value: Record<string, unknown>, path: string, depth: number): unknown {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const part = value[key];
    if (key === '__proto__') refuse(path, 'an object with the key __proto__');
    if (part !== undefined) copy[key] = frozenCopy(part, `${path}.${key}`, depth + 1);
  }
  return Object.freeze(copy);
}

function kindOf(value: object): string {
  return `a ${value.constructor?.name ?? 'special object'}`;
}

function refuse(path: string, what: string): never {
  throw new BusError('message_refused', `${path} is ${what}, which JSON cannot carry: convert it first.`);
}
