import { BusError } from './errors.ts';

const maximumDepth = 100;
/** A character of text takes at most this many bytes in JSON, where it is written as an escape. */
const bytesPerCharacter = 6;
const bytesPerNumber = 25;

/** A frozen copy and the most bytes that its JSON text can have. */
export interface FrozenCopy {
  value: unknown;
  bytes: number;
}

/**
 * A deeply frozen copy of a JSON value, so that nobody can change a message under another's hands.
 * Throws, naming the place, at whatever JSON cannot carry; properties that are undefined are left out.
 */
export function frozenCopy(value: unknown, path: string): FrozenCopy {
  bytes = 0;
  const copied = copy(value, 0);
  if (copied === unfit) throw new BusError('message_refused', faultIn(value, path, 0));
  return { value: copied, bytes };
}

/** Freezes a value that came from JSON text, with everything inside it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/** Stands for a value that JSON cannot carry; where it is, is only looked for then. */
const unfit = Symbol('unfit');
/** Counts along one copy. */
let bytes = 0;

function copy(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      bytes += value.length * bytesPerCharacter + 2;
      return value;
    case 'boolean':
      bytes += 5;
      return value;
    case 'number':
      bytes += bytesPerNumber;
      return Number.isFinite(value) ? value : unfit;
    case 'object':
      bytes += 4;
      return value === null ? null : copyObject(value, depth + 1);
    default:
      return unfit;
  }
}

function copyObject(value: object, depth: number): unknown {
  if (depth > maximumDepth) return unfit;
  if (Array.isArray(value)) return copyArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return unfit;
  return copyProperties(value as Record<string, unknown>, depth);
}

function copyArray(value: readonly unknown[], depth: number): unknown {
  const copied: unknown[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const part = copy(value[index], depth);
    if (part === unfit) return unfit;
    copied.push(part);
  }
  bytes += value.length;
  return Object.freeze(copied);
}

function copyProperties(value: Record<string, unknown>, depth: number): unknown {
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (value[key] === undefined) continue;
    const part = copy(value[key], depth);
    if (part === unfit || key === '__proto__') return unfit;
    copied[key] = part;
    bytes += key.length * bytesPerCharacter + 4;
  }
  return Object.freeze(copied);
}

/** Finds what was unfit, in the order of the copy. */
function faultIn(value: unknown, path: string, depth: number): string {
  if (typeof value === 'object' && value !== null && depth < maximumDepth) {
    const entries = Array.isArray(value) ? [...value.entries()] : plainEntries(value);
    const unfitPart = entries?.find(([key, part]) => key === '__proto__' || copy(part, depth + 1) === unfit);
    if (unfitPart !== undefined) {
      const [key, part] = unfitPart;
      return faultIn(part, typeof key === 'number' ? `${path}[${key}]` : `${path}.${key}`, depth + 1);
    }
  }
  return `${path} is ${kindOf(value, path)}, which JSON cannot carry: convert it first.`;
}

/** Undefined for what is no plain object: then that is the fault. */
function plainEntries(value: object): [string, unknown][] | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  return Object.entries(value).filter(([, part]) => part !== undefined);
}

function kindOf(value: unknown, path: string): string {
  if (path.endsWith('.__proto__')) return 'a key with a meaning of its own';
  if (value === undefined) return 'undefined';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  const plain = value === null || Array.isArray(value) || plainEntries(value) !== undefined;
  if (plain) return `circular or nested deeper than ${maximumDepth} levels`;
  return `a ${value.constructor?.name ?? 'special object'}`;
}
