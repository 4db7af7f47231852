import { isScalar, parseDocument, Scalar, visit } from 'yaml';
import type { z } from 'zod';
import type { Environment } from '../environment/environment.ts';
import { expandVariables } from './expand.ts';
import { issueProblems, pathsOf } from './issues.ts';
import {
  findPlace,
  type Problem,
  parseSource,
  refuse,
  refuseWhole,
  resolveAlias,
  type YamlSource,
} from './source.ts';
import { syntaxProblems } from './syntax.ts';

// Enough for a file that reuses its anchors a lot, far too little for one that multiplies them.
const MOST_ALIASES = 1000;

/** How variables get into the values. Switch `expand` off for files that users of the program write. */
export type YamlOptions = { env?: Environment; expand?: boolean };

/** Reads a YAML text into the shape of the schema; fails with file, line and column of everything wrong. */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  { file, env = process.env, expand = true }: YamlOptions & { file: string },
): z.output<Schema> {
  const source = parseSource(text.replace(/^\uFEFF/, ''), file);
  const misspelt = syntaxProblems(source);
  if (misspelt.length > 0) refuse(source, misspelt);
  const expanded = expand ? expandScalars(source, env) : new Set<Scalar>();
  return validate(source, schema, expanded);
}

// Replaces references in all values, not in keys; returns the values that stood without quotes.
function expandScalars(source: YamlSource, env: Environment): Set<Scalar> {
  const plain = new Set<Scalar>();
  const problems: Problem[] = [];
  visit(source.document, {
    Scalar(role, scalar) {
      if (role === 'key' || typeof scalar.value !== 'string' || !scalar.value.includes('${')) return;
      const expansion = expandVariables(scalar.value, env);
      problems.push(...expansion.problems.map((found) => problemIn(source, scalar, found)));
      scalar.value = expansion.text;
      if (scalar.type === Scalar.PLAIN) plain.add(scalar);
    },
  });
  if (problems.length > 0) refuse(source, problems);
  return plain;
}

function problemIn(
  { text }: YamlSource,
  { range }: Scalar,
  found: { reference: string; words: string },
): Problem {
  const [start = 0, end = text.length] = range ?? [];
  const inside = text.slice(start, end).indexOf(found.reference);
  return { offset: start + Math.max(inside, 0), words: found.words };
}

// A variable's text stays a text, so that a key of digits remains one; where the schema wants something
// else, a value without quotes is read once more as YAML would read it.
function validate<Schema extends z.ZodType>(
  source: YamlSource,
  schema: Schema,
  expanded: ReadonlySet<Scalar>,
): z.output<Schema> {
  let value = toValue(source);
  let result = safeParse(source, schema, value);
  if (!result.success && retype(source, result.error, expanded)) {
    value = toValue(source);
    result = safeParse(source, schema, value);
  }
  if (result.success) return result.data;
  return refuse(source, issueProblems(source, schema, value, result.error));
}

function retype(source: YamlSource, error: z.ZodError, expanded: ReadonlySet<Scalar>): boolean {
  const places = error.issues.flatMap(pathsOf).map((path) => findPlace(source, path));
  const nodes = places.flatMap(({ node, complete }) => (complete ? resolveAlias(source.document, node) : []));
  const wrong = nodes.filter((node) => isScalar(node)).filter((scalar) => expanded.has(scalar));
  for (const scalar of wrong) scalar.value = typedValue(String(scalar.value));
  return wrong.length > 0;
}

function typedValue(text: string): unknown {
  const { contents, errors } = parseDocument(text, { prettyErrors: false });
  return errors.length === 0 && isScalar(contents) ? contents.value : text;
}

// An empty file is no value, so that a schema's default applies.
function toValue(source: YamlSource): unknown {
  const value = expandAliases(source) ?? undefined;
  if (holdsItself(value)) refuseWhole(source, 'an alias (*name) leads back into its own anchor');
  return value;
}

function expandAliases(source: YamlSource): unknown {
  try {
    return source.document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return refuseWhole(source, `aliases (*name) multiply too much; at most ${MOST_ALIASES} are expanded`);
  }
}

function holdsItself(value: unknown, above = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || done.has(value)) return false;
  if (above.has(value)) return true;
  above.add(value);
  const found = Object.values(value).some((part) => holdsItself(part, above, done));
  above.delete(value);
  done.add(value);
  return found;
}

function safeParse<Schema extends z.ZodType>(source: YamlSource, schema: Schema, value: unknown) {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return refuseWhole(source, 'too many levels inside each other');
  }
}
