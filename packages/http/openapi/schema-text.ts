import type { Schema, SchemaOrReference } from './types.ts';

type Schemas = Readonly<Record<string, SchemaOrReference>>;

const MAX_DEPTH = 6;

/** A schema as a type that people can read: `{ level: "silent" | "brief", note?: string }`. */
export function schemaText(schema: SchemaOrReference | undefined, schemas: Schemas, depth = 0): string {
  if (schema === undefined || depth > MAX_DEPTH) return 'any';
  if ('$ref' in schema) return referenceText(schema.$ref, schemas, depth);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((choice) => schemaText(choice, schemas, depth)).join(' | ');
  if (schema.allOf !== undefined)
    return schema.allOf.map((part) => schemaText(part, schemas, depth)).join(' & ');
  if (schema.type === 'array') return `${wrapped(schemaText(schema.items, schemas, depth))}[]`;
  if (schema.type === 'object' || schema.properties !== undefined) return objectText(schema, schemas, depth);
  return typeText(schema);
}

function referenceText(reference: string, schemas: Schemas, depth: number): string {
  const name = reference.split('/').pop() ?? '';
  return schemas[name] === undefined ? name : schemaText(schemas[name], schemas, depth + 1);
}

function objectText(schema: Schema, schemas: Schemas, depth: number): string {
  const indent = '  '.repeat(depth + 1);
  const lines = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const optional = schema.required?.includes(name) === true ? '' : '?';
    const note = 'description' in property && property.description ? `  // ${property.description}` : '';
    return `${indent}${name}${optional}: ${schemaText(property, schemas, depth + 1)}${note}`;
  });
  const { additionalProperties: rest } = schema;
  if (typeof rest === 'object') lines.push(`${indent}[name]: ${schemaText(rest, schemas, depth + 1)}`);
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
}

function typeText(schema: Schema): string {
  const names = [schema.type ?? 'any'].flat().join(' | ');
  return [names, schema.format && `(${schema.format})`, limitsText(schema)].filter(Boolean).join(' ');
}

function limitsText(schema: Schema): string {
  const low = schema.minimum ?? schema.minLength;
  const high = schema.maximum ?? schema.maxLength;
  const isOpen = (high ?? Number.MAX_SAFE_INTEGER) >= Number.MAX_SAFE_INTEGER;
  if (isOpen) return low === undefined || low <= Number.MIN_SAFE_INTEGER ? '' : `from ${low}`;
  return low === undefined || low <= Number.MIN_SAFE_INTEGER ? `up to ${high}` : `${low} to ${high}`;
}

function wrapped(text: string): string {
  return text.includes(' | ') && !text.startsWith('{') ? `(${text})` : text;
}
