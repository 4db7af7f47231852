import type { JSONSchema7, JSONSchema7Definition } from '@ai-sdk/provider';
import type { Call, Intent, OfferedTool, Situation } from './request.ts';
import { shorten, trimPhrase } from './text.ts';
import { listFor, textFor, topicOf } from './topic.ts';

interface FillSource {
  /** Name of the property being filled; it decides what sort of words fit. */
  name: string;
  text: string;
  topic?: string;
}

interface Place extends Required<FillSource> {
  root: JSONSchema7;
  depth: number;
}

/** Below this depth only what the schema requires is filled, so that recursive schemas end. */
const deepest = 6;

/** A value that satisfies the schema, its words taken from the source; the same input gives the same value. */
export function fillSchema(schema: JSONSchema7, source: FillSource): unknown {
  return fill(schema, { topic: topicOf(source.text), ...source, root: schema, depth: 0 });
}

function fill(definition: JSONSchema7Definition | undefined, place: Place): unknown {
  if (typeof definition !== 'object') return null;
  const schema = resolve(definition, place.root);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return chooseFrom(schema.enum, place.text);
  if (schema.default !== undefined) return schema.default;
  return fillers[typeOf(schema)]?.(schema, place) ?? null;
}

/** Schemas that one is made of: a schema may refer to itself. */
const MOST_STEPS = 500;

/** Follows references, merges `allOf` and takes the first alternative that is not null. */
function resolve(schema: JSONSchema7, root: JSONSchema7, steps = { left: MOST_STEPS }): JSONSchema7 {
  steps.left -= 1;
  if (steps.left < 0) return {};
  if (schema.$ref !== undefined) return resolve(referenced(schema.$ref, root), root, steps);
  if (schema.allOf !== undefined) {
    const parts = schema.allOf
      .filter((part) => typeof part === 'object')
      .map((part) => resolve(part, root, steps));
    return parts.reduce(merge, { ...schema, allOf: [] });
  }
  const variants = (schema.anyOf ?? schema.oneOf ?? []).filter((part) => typeof part === 'object');
  const variant = variants.find((part) => part.type !== 'null');
  return variant === undefined ? schema : resolve(variant, root, steps);
}

function referenced(reference: string, root: JSONSchema7): JSONSchema7 {
  const target = reference
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (node, key) => (typeof node === 'object' && node !== null ? Reflect.get(node, key) : undefined),
      root,
    );
  return typeof target === 'object' && target !== null ? target : {};
}

function merge(left: JSONSchema7, right: JSONSchema7): JSONSchema7 {
  return {
    ...left,
    ...right,
    properties: { ...left.properties, ...right.properties },
    required: [...(left.required ?? []), ...(right.required ?? [])],
  };
}

/** The first listed value the text speaks of, else the first. */
function chooseFrom(values: readonly unknown[], text: string): unknown {
  const lower = text.toLowerCase();
  return (
    values.find((value) => typeof value === 'string' && lower.includes(value.toLowerCase())) ?? values[0]
  );
}

function typeOf(schema: JSONSchema7): string {
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== 'null') : schema.type;
  if (type !== undefined) return type;
  if (schema.properties !== undefined) return 'object';
  return schema.items === undefined ? 'string' : 'array';
}

const fillers: Record<string, (schema: JSONSchema7, place: Place) => unknown> = {
  object: fillObject,
  array: fillArray,
  string: fillString,
  number: fillNumber,
  integer: fillNumber,
  boolean: () => false,
};

function fillObject(schema: JSONSchema7, place: Place): Record<string, unknown> {
  const required = new Set(schema.required);
  const names = Object.keys(schema.properties ?? {}).filter(
    (name) => required.has(name) || place.depth < deepest,
  );
  return Object.fromEntries(
    names.map((name) => [name, fill(schema.properties?.[name], { ...place, name, depth: place.depth + 1 })]),
  );
}

function fillArray(schema: JSONSchema7, place: Place): unknown[] {
  const least = schema.minItems ?? 0;
  const items = Array.isArray(schema.items) ? schema.items[0] : schema.items;
  const most = place.depth < deepest ? (schema.maxItems ?? Number.POSITIVE_INFINITY) : least;
  const entries = listFor(place.name, place.topic, place.text, least, most);
  const isText = typeof items === 'object' && typeOf(resolve(items, place.root)) === 'string';
  return entries.map((topic) =>
    isText && !hasChoices(items) ? topic : fill(items, { ...place, topic, depth: place.depth + 1 }),
  );
}

function hasChoices(schema: JSONSchema7): boolean {
  return schema.enum !== undefined || schema.const !== undefined;
}

function fillString(schema: JSONSchema7, place: Place): string {
  const formatted = schema.format === undefined ? undefined : formats[schema.format];
  if (formatted !== undefined) return formatted(place.text);
  const words = textFor(place.name, place.topic, place.text) || place.name;
  return shorten(words.padEnd(schema.minLength ?? 0, '.'), schema.maxLength ?? Number.POSITIVE_INFINITY);
}

/** Strings of a fixed form: the one in the text, else a neutral one. */
const formats: Record<string, (text: string) => string> = {
  'date-time': (text) =>
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/.exec(text)?.[0] ?? '1970-01-01T00:00:00Z',
  date: (text) => /\d{4}-\d\d-\d\d/.exec(text)?.[0] ?? '1970-01-01',
  uri: (text) => textFor('url', '', text),
  email: (text) => /[\w.+-]+@[\w-]+\.[\w.]+/.exec(text)?.[0] ?? 'nobody@example.org',
  uuid: () => '00000000-0000-4000-8000-000000000000',
};

function fillNumber(schema: JSONSchema7): number {
  const above =
    schema.exclusiveMinimum === undefined ? Number.NEGATIVE_INFINITY : schema.exclusiveMinimum + 1;
  const least = Math.max(schema.minimum ?? Number.NEGATIVE_INFINITY, above);
  return Math.min(Math.max(0, least), schema.maximum ?? Number.POSITIVE_INFINITY);
}

/** A call whose arguments fit the tool: foreign keys dropped, missing required ones filled from the words. */
export function callOf(tool: OfferedTool, given: Record<string, unknown>, words = ''): Call {
  const properties = propertiesOf(tool);
  const kept = Object.entries(given).filter(
    ([name, value]) =>
      value !== undefined && (name in properties || tool.schema.additionalProperties === true),
  );
  const input: Record<string, unknown> = Object.fromEntries(kept);
  for (const name of tool.schema.required ?? []) {
    const schema = properties[name];
    if (!(name in input) && typeof schema === 'object') {
      input[name] = fillSchema({ ...schema, $defs: tool.schema.$defs ?? {} }, { name, text: words });
    }
  }
  return { tool: tool.name, input };
}

/** One call of the named tool, if the request offers it. */
export function offeredCall(
  name: string,
  input: Record<string, unknown>,
  { tools }: Situation,
): Call[] | undefined {
  const tool = tools.get(name);
  return tool === undefined ? undefined : [callOf(tool, input)];
}

/** Words that ask for a tool, and the input that follows from the named groups of the pattern. */
type Rule = readonly [
  pattern: RegExp,
  tool: string,
  inputOf?: (groups: Record<string, string | undefined>, situation: Situation) => Record<string, unknown>,
];

/** An intent made of rules; the first that fits and whose tool is offered counts. */
export function intentOf(examples: readonly string[], rules: readonly Rule[]): Intent {
  return {
    tools: [...new Set(rules.map(([, tool]) => tool))],
    examples,
    recognise(clause, situation) {
      const sentence = trimPhrase(clause);
      for (const [pattern, tool, inputOf = () => ({})] of rules) {
        const match = pattern.exec(sentence);
        const calls = match && offeredCall(tool, inputOf({ ...match.groups }, situation), situation);
        if (calls) return calls;
      }
      return undefined;
    },
  };
}

/** The parameter that takes the main words: the first required text, else the first text. */
export function mainParameter(tool: OfferedTool): string | undefined {
  const properties = propertiesOf(tool);
  const isText = (name: string): boolean => {
    const schema = properties[name];
    return typeof schema === 'object' && (schema.type ?? 'string') === 'string' && schema.enum === undefined;
  };
  return (tool.schema.required ?? []).find(isText) ?? Object.keys(properties).find(isText);
}

/** The values a parameter may take, when the tool lists them. */
export function choicesOf(tool: OfferedTool, parameter: string): string[] {
  const schema = propertiesOf(tool)[parameter];
  return typeof schema === 'object' ? (schema.enum ?? []).map(String) : [];
}

function propertiesOf(tool: OfferedTool): NonNullable<JSONSchema7['properties']> {
  return tool.schema.properties ?? {};
}
