import type { GbnfJsonSchema } from 'node-llama-cpp';

/** A JSON schema as tools bring it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const scalarTypes = ['string', 'number', 'integer', 'boolean', 'null'] as const;
type ScalarType = (typeof scalarTypes)[number];

/** A grammar grows with each repetition and each level; looser than the schema is allowed, the caller checks again. */
const longestRepetition = 200;
const deepest = 12;
/** References let a short schema stand for millions of nodes. */
const mostNodes = 2_000;

/** A schema with what it refers to, and how many nodes may still be read of it. */
interface Source {
  root: JsonSchema;
  left: number;
}

const anyObject = { type: 'object', additionalProperties: true } as const;
const anyValue: GbnfJsonSchema = { oneOf: [{ type: scalarTypes }, anyObject, { type: 'array' }] };

/**
 * The part of a JSON schema that a grammar can enforce. The grammar writes every property of an object, so an optional one
 * may be null there; `withoutAbsent` takes those nulls away again.
 */
export function grammarSchema(schema: JsonSchema): GbnfJsonSchema {
  return convert(schema, { root: schema, left: mostNodes }, 0);
}

function convert(given: unknown, source: Source, depth: number): GbnfJsonSchema {
  const schema = resolve(given, source);
  if (schema === undefined || depth > deepest) return anyValue;
  const description = typeof schema.description === 'string' ? { description: schema.description } : {};
  const below = (each: unknown) => convert(each, source, depth + 1);
  if (isScalar(schema.const)) return { const: schema.const, ...description };
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.every(isScalar))
    return { enum: schema.enum, ...description };
  const choices = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(choices) && choices.length > 0) return { oneOf: choices.map(below), ...description };
  if (Array.isArray(schema.type)) {
    const types = schema.type as unknown[];
    if (types.every(isScalarType)) return { type: types, ...description };
    return { oneOf: types.map((type) => below({ ...schema, type })), ...description };
  }
  if (schema.type === 'object' || schema.properties !== undefined)
    return { ...objectSchema(schema, below), ...description };
  if (schema.type === 'array') return { ...arraySchema(schema, below), ...description };
  if (schema.type === 'string') return { ...stringSchema(schema), ...description };
  return isScalarType(schema.type) ? { type: schema.type, ...description } : anyValue;
}

function objectSchema(schema: JsonSchema, below: (each: unknown) => GbnfJsonSchema): GbnfJsonSchema {
  const properties = Object.entries(isRecord(schema.properties) ? schema.properties : {});
  const { additionalProperties: more } = schema;
  const additionalProperties = isRecord(more) ? below(more) : (more ?? properties.length === 0) === true;
  const entry = ([name, each]: [string, unknown]): [string, GbnfJsonSchema] => [
    name,
    isRequired(schema, name) ? below(each) : { oneOf: [below(each), { type: 'null' }] },
  ];
  return { type: 'object', properties: Object.fromEntries(properties.map(entry)), additionalProperties };
}

function arraySchema(schema: JsonSchema, below: (each: unknown) => GbnfJsonSchema): GbnfJsonSchema {
  const { minItems, maxItems, items } = schema;
  return {
    type: 'array',
    ...(isRecord(items) && { items: below(items) }),
    ...(isCount(minItems) && { minItems }),
    ...(isCount(maxItems) && { maxItems }),
  };
}

function stringSchema({ format, minLength, maxLength }: JsonSchema): GbnfJsonSchema {
  if (format === 'date-time' || format === 'date' || format === 'time') return { type: 'string', format };
  return {
    type: 'string',
    ...(isCount(minLength) && { minLength }),
    ...(isCount(maxLength) && { maxLength }),
  };
}

/** Takes away the nulls that stand for optional properties which the model left out. */
export function withoutAbsent(value: unknown, schema: unknown, root = schema): unknown {
  const found = isRecord(root) ? resolve(schema, { root, left: mostNodes }) : undefined;
  if (Array.isArray(value)) return value.map((each) => withoutAbsent(each, found?.items, root));
  if (!isRecord(value) || found === undefined || !isRecord(found.properties)) return value;
  const { properties } = found;
  const isAbsent = ([name, each]: [string, unknown]) =>
    each === null && !isRequired(found, name) && !allowsNull(properties[name]);
  const present = Object.entries(value).filter((entry) => !isAbsent(entry));
  return Object.fromEntries(
    present.map(([name, each]) => [name, withoutAbsent(each, properties[name], root)]),
  );
}

function allowsNull(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const choices = [schema.oneOf, schema.anyOf].flatMap((list) => (Array.isArray(list) ? list : []));
  const types = [schema.type].flat();
  return schema.const === null || types.includes('null') || choices.some(allowsNull);
}

/** Follows a reference within the schema, and joins the members of `allOf`; undefined once too many nodes were read. */
function resolve(given: unknown, source: Source): JsonSchema | undefined {
  source.left -= 1;
  if (source.left < 0) return undefined;
  let schema = given;
  for (let hops = 0; isRecord(schema) && typeof schema.$ref === 'string' && hops < deepest; hops += 1)
    schema = referenced(schema.$ref, source.root);
  if (!isRecord(schema)) return undefined;
  if (!Array.isArray(schema.allOf)) return schema;
  const members = [
    schema,
    ...schema.allOf.map((each) => (isRecord(each) ? resolve(each, source) : undefined)),
  ];
  const joined = { ...Object.assign({}, ...members), allOf: undefined };
  const properties = Object.assign({}, ...members.map((each) => each?.properties));
  const required = members.flatMap((each) => (Array.isArray(each?.required) ? each.required : []));
  return { ...joined, ...(Object.keys(properties).length > 0 && { properties }), required };
}

function referenced(pointer: string, root: JsonSchema): unknown {
  const steps = pointer.replace(/^#\/?/, '').split('/').filter(Boolean);
  return steps.reduce<unknown>((place, step) => (isRecord(place) ? place[step] : undefined), root);
}

function isRequired({ required }: JsonSchema, name: string): boolean {
  return Array.isArray(required) && required.includes(name);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isScalarType(value: unknown): value is ScalarType {
  return scalarTypes.includes(value as ScalarType);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value <= longestRepetition;
}
