import { parseRelaxedJson } from './relaxed-json.ts';

/** A JSON schema as far as repair looks at it. */
interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: readonly string[];
  items?: Schema | readonly Schema[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  enum?: readonly unknown[];
  const?: unknown;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
}

const deepest = 32;

/**
 * Arguments with the slips that models make mended, as far as the schema leaves no doubt what was meant: `"5"` for 5,
 * null for something optional, JSON in a string, a single value for a list. What fits already, and what cannot be
 * mended, stays as it is.
 */
export function repairArguments(value: unknown, schema: unknown): unknown {
  const root = (typeof schema === 'object' && schema !== null ? schema : {}) as Schema;
  return fit(value ?? {}, root, root, 0);
}

function fit(value: unknown, given: Schema, root: Schema, depth: number): unknown {
  if (depth > deepest) return value;
  const schema = resolved(given, root);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return fitOption(value, options, root, depth);
  const types = typesOf(schema);
  const mended = types.length === 0 || types.includes(typeOf(value)) ? value : convert(value, types);
  if (Array.isArray(mended)) return fitItems(mended, schema, root, depth);
  if (isRecord(mended)) return fitFields(mended, schema, root, depth);
  return fitEnum(mended, schema);
}

/** The first option that the value fits as it is; else the first that it fits once mended. */
function fitOption(value: unknown, options: readonly Schema[], root: Schema, depth: number): unknown {
  const fitting = options.map((option) => resolved(option, root));
  const asItIs = fitting.find((option) => conforms(value, option));
  if (asItIs !== undefined) return fit(value, asItIs, root, depth + 1);
  for (const option of fitting) {
    const mended = fit(value, option, root, depth + 1);
    if (conforms(mended, option)) return mended;
  }
  return value;
}

function fitFields(
  record: Record<string, unknown>,
  { properties = {}, additionalProperties, required = [] }: Schema,
  root: Schema,
  depth: number,
): Record<string, unknown> {
  const rest = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  const entries = Object.entries(record).flatMap(([name, field]): [string, unknown][] => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : rest;
    if (schema === undefined) return [[name, field]];
    if (field === null && !required.includes(name) && !allowsNull(schema, root)) return [];
    return [[name, fit(field, schema, root, depth + 1)]];
  });
  return Object.fromEntries(entries);
}

function fitItems(list: unknown[], { items }: Schema, root: Schema, depth: number): unknown[] {
  if (items === undefined) return list;
  const schemas: readonly Schema[] | undefined = Array.isArray(items) ? items : undefined;
  return list.map((item, index) =>
    fit(item, schemas?.[index] ?? (schemas ? {} : (items as Schema)), root, depth + 1),
  );
}

/** A value of one of the types, where there is no doubt which is meant. */
function convert(value: unknown, types: readonly string[]): unknown {
  const text = typeof value === 'string' ? value.trim() : undefined;
  if (text !== undefined) {
    const isNumber = types.includes('number') || types.includes('integer');
    if (isNumber && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
    if (types.includes('boolean') && /^(?:true|false)$/i.test(text)) return /^t/i.test(text);
    if (types.includes('null') && /^(?:null|none)?$/i.test(text)) return null;
    const read =
      types.includes('object') || types.includes('array') ? parseRelaxedJson(text)?.value : undefined;
    if (read !== undefined && types.includes(typeOf(read))) return read;
  }
  if (types.includes('array') && value !== null) return [value];
  return value;
}

function fitEnum(value: unknown, { enum: values, const: only }: Schema): unknown {
  const allowed = values ?? (only === undefined ? [] : [only]);
  if (allowed.length === 0 || allowed.includes(value)) return value;
  const same = allowed.filter((each) => String(each).toLowerCase() === String(value).trim().toLowerCase());
  return same.length === 1 ? same[0] : value;
}

function conforms(value: unknown, { type, enum: values, const: only, required = [] }: Schema): boolean {
  if (values !== undefined && !values.includes(value)) return false;
  if (only !== undefined && only !== value) return false;
  const types = typesOf({ type });
  if (types.length > 0 && !types.includes(typeOf(value))) return false;
  return !isRecord(value) || required.every((name) => Object.hasOwn(value, name));
}

function allowsNull(given: Schema, root: Schema): boolean {
  const schema = resolved(given, root);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return options.some((option) => conforms(null, resolved(option, root)));
  const types = typesOf(schema);
  return types.length === 0
    ? schema.enum === undefined && schema.const === undefined
    : types.includes('null');
}

function resolved(schema: Schema, root: Schema): Schema {
  const name = /^#\/(?:\$defs|definitions)\/(.+)$/.exec(schema.$ref ?? '')?.[1];
  if (schema.$ref === '#') return root;
  return name === undefined ? schema : (root.$defs?.[name] ?? root.definitions?.[name] ?? schema);
}

/** An integer is a number too. */
function typesOf({ type }: { type?: Schema['type'] | undefined }): readonly string[] {
  const types = type === undefined ? [] : typeof type === 'string' ? [type] : type;
  return types.includes('integer') ? [...types, 'number'] : types;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
