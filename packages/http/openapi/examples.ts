import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { generateSpecs } from 'hono-openapi';

/** A request and its answer, as a service gave it. */
export interface RouteExample {
  /** Values of parameters in path, query and headers, by name. */
  parameters?: Readonly<Record<string, unknown>>;
  body?: unknown;
  /** The answer of a success; a string is sent as it is. */
  response?: unknown;
}

/** Examples by route, as in `GET /api/tasks/{id}`. */
type Examples = Readonly<Record<string, RouteExample>>;

/** Of the routes that every service has: health, sign-in, the operator's routes, A2A, the OpenAI-compatible API. */
const COMMON = join(import.meta.dirname, 'examples.json');

const MAX_DEPTH = 6;

/** The examples of a service, its own before those that all share. Read when somebody asks for the description. */
export function readExamples(file: string | undefined): Examples {
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Examples;
  return { ...read(COMMON), ...(file !== undefined && read(file)) };
}

/** Every path of A2A exists a second time below `/a2a`. */
export function findExample(examples: Examples, method: string, path: string): RouteExample | undefined {
  const verb = method.toUpperCase();
  return examples[`${verb} ${path}`] ?? examples[`${verb} ${path.replace(/^\/a2a(?=\/)/, '')}`];
}

/** Writes the example into parameters, body and success of an operation; what it lacks is made from the schemas. */
export function applyExample(
  operation: Operation,
  example: RouteExample | undefined,
  document: ApiDocument,
): void {
  const schemas = document.components?.schemas ?? {};
  for (const parameter of operation.parameters as Parameter[]) {
    const value = example?.parameters?.[parameter.name];
    const isNeeded = parameter.required === true || value !== undefined;
    parameter.example ??= isNeeded ? (value ?? exampleOf(parameter.schema as Schema, schemas)) : undefined;
    if (parameter.example === undefined) delete parameter.example;
  }
  const body = operation.requestBody;
  if (body !== undefined && !('$ref' in body)) {
    for (const media of Object.values(body.content ?? {}))
      media.example ??= example?.body ?? exampleOf(media.schema, schemas);
  }
  applyResponse(operation, example, schemas);
}

function applyResponse(operation: Operation, example: RouteExample | undefined, schemas: Schemas): void {
  const [, success] =
    Object.entries(operation.responses ?? {}).find(([status]) => status.startsWith('2')) ?? [];
  if (success === undefined || '$ref' in success) return;
  const given = example?.response;
  if (success.content === undefined) {
    if (given === undefined) return;
    const isStream = typeof given === 'string' && /^(event|data|id|retry|:)/.test(given);
    const type = isStream
      ? 'text/event-stream'
      : typeof given === 'string'
        ? 'text/plain'
        : 'application/json';
    success.content = { [type]: {} };
  }
  for (const media of Object.values(success.content)) {
    media.example ??= given ?? (media.schema === undefined ? undefined : exampleOf(media.schema, schemas));
    if (media.example === undefined) delete media.example;
  }
}

type Schemas = Readonly<Record<string, SchemaOrReference>>;

/** A value that fits the schema: its own example or default, or the plainest of its type. */
function exampleOf(schema: SchemaOrReference | undefined, schemas: Schemas, depth = 0): unknown {
  if (schema === undefined || depth > MAX_DEPTH) return {};
  if ('$ref' in schema) return exampleOf(schemas[schema.$ref.split('/').pop() ?? ''], schemas, depth + 1);
  const given = [schema.example, schema.examples?.[0], schema.default, schema.const, schema.enum?.[0]];
  const known = given.find((value) => value !== undefined);
  if (known !== undefined) return known;
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice !== undefined) return exampleOf(choice, schemas, depth + 1);
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map((each) => exampleOf(each, schemas, depth + 1)));
  const type = [schema.type ?? 'object'].flat()[0];
  if (schema.type === 'array') return [exampleOf(schema.items, schemas, depth + 1)];
  if (type === 'object') return objectExample(schema, schemas, depth);
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 0);
  return type === 'null' ? null : stringExample(schema);
}

/** What must be given; where nothing must, all that can. */
function objectExample(schema: Schema, schemas: Schemas, depth: number): object {
  const { properties = {}, required = [] } = schema;
  const names = required.length > 0 ? required : Object.keys(properties);
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name], schemas, depth + 1)]));
}

function stringExample({ format, minLength = 0 }: Schema): string {
  const formats: Record<string, string> = {
    uri: 'https://example.com/',
    email: 'ada@example.com',
    uuid: '018f6b1e-7c7e-7a4a-9d5e-0c2b7f1f9a10',
    'date-time': '2026-11-16T09:00:00Z',
    date: '2026-11-16',
    binary: '(a file)',
  };
  return formats[format ?? ''] ?? 'text'.padEnd(minLength, '.');
}

/** The parts of an OpenAPI 3.1 document, as the generator types them. */
export type ApiDocument = Awaited<ReturnType<typeof generateSpecs>>;

export type Operation = NonNullable<NonNullable<ApiDocument['paths'][string]>['get']>;

type Components = NonNullable<ApiDocument['components']>;

export type Schema = NonNullable<Components['schemas']>[string];

export type SchemaOrReference = Schema | { $ref: string };

export type Parameter = Exclude<NonNullable<Components['parameters']>[string], { $ref: string }>;

export type ResponseDescription = Exclude<NonNullable<Components['responses']>[string], { $ref: string }>;

export type SecurityScheme = Exclude<NonNullable<Components['securitySchemes']>[string], { $ref: string }>;
