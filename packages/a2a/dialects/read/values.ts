import { invalidParams } from '../../errors/a2a-error.ts';
import type { Metadata } from '../../protocol/model.ts';

export type JsonObject = Record<string, unknown>;

const longestId = 256;

const longestText = 2048;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field under its own name or as protocol buffers spell it; null counts as absent. */
export function field(object: JsonObject, name: string): unknown {
  const value = own(object, name);
  if (value !== undefined && value !== null) return value;
  const spelled = snakeCase(name);
  return spelled === name ? undefined : (own(object, spelled) ?? undefined);
}

function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** By name: the names are those that stand in this package. */
const snakeNames = new Map<string, string>();

function snakeCase(name: string): string {
  let spelled = snakeNames.get(name);
  if (spelled === undefined) {
    spelled = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, spelled);
  }
  return spelled;
}

/** An id that may be left out; the empty text counts as absent, as in protocol buffers. */
export function optionalId(object: JsonObject, name: string): string | undefined {
  const value = field(object, name);
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && value.length <= longestId) return value;
  throw invalidParams(`${name} must be a text of at most ${longestId} characters`, name);
}

export function requiredId(object: JsonObject, ...names: string[]): string {
  for (const name of names) {
    const value = optionalId(object, name);
    if (value !== undefined && value.trim() !== '') return value;
  }
  throw invalidParams(`${names[0]} is missing`, names[0]);
}

export function optionalText(object: JsonObject, name: string): string | undefined {
  const value = field(object, name);
  if (value === undefined || typeof value === 'string') return value === '' ? undefined : value;
  throw invalidParams(`${name} must be a text`, name);
}

export function optionalObject(object: JsonObject, name: string): JsonObject | undefined {
  const value = field(object, name);
  if (value === undefined || isObject(value)) return value;
  throw invalidParams(`${name} must be an object`, name);
}

const longestList = 100;

/** Texts that may be left out; an empty list counts as absent. */
export function optionalTexts(object: JsonObject, name: string): string[] | undefined {
  const value = field(object, name);
  if (value === undefined) return undefined;
  const isRight = Array.isArray(value) && value.length <= longestList && value.every(isShortText);
  if (!isRight)
    throw invalidParams(
      `${name} must be a list of at most ${longestList} texts of at most ${longestText} characters`,
      name,
    );
  return value.length === 0 ? undefined : value;
}

const isShortText = (value: unknown) => typeof value === 'string' && value.length <= longestText;

export function optionalMetadata(object: JsonObject): Metadata | undefined {
  return optionalObject(object, 'metadata');
}

/** A count from zero up; in a query string it comes as text. */
export function optionalCount(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  if (value === undefined || value === '') return undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw invalidParams(`${name} must be a whole number, zero or more`, name);
}

export function optionalFlag(object: JsonObject, name: string): boolean | undefined {
  const value = field(object, name);
  if (value === undefined || value === '') return undefined;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw invalidParams(`${name} must be true or false`, name);
}
