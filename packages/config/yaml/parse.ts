import { type ErrorCode, isPair, isScalar, isSeq, parseDocument, Scalar, visit, type YAMLError } from 'yaml';
import type { z } from 'zod';
import { type Environment, resolveVariable } from '../environment/environment.ts';
import { type Found, resolveSecret, secretReference } from '../secrets/references.ts';
import { issueProblems, pathsOf, shownName } from './issues.ts';
import {
  findPlace,
  type Problem,
  parseSource,
  refuse,
  refuseWhole,
  resolveAlias,
  type YamlSource,
} from './source.ts';

// In our own words: those of the parser may quote the file, which may hold secrets.
const WORDS: Partial<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag of its own',
  BAD_ALIAS: 'an alias or anchor has no proper name',
  BAD_COLLECTION_TYPE: 'the tag does not fit what follows it',
  BAD_DIRECTIVE: 'a line that starts with % must be a YAML directive',
  BAD_DQ_ESCAPE: 'unknown escape in a double-quoted text; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines above',
  BAD_PROP_ORDER: 'anchors and tags must stand before the value, after the dash or colon',
  BAD_SCALAR_START: 'a text cannot start with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a value with a colon and a blank in it must be in quotes; nested keys go on a line of their own',
  BLOCK_IN_FLOW: 'inside { } or [ ] no indented block is allowed',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MISSING_CHAR: 'something is missing here: a closing quote or bracket, a comma or a colon',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line; is a colon missing?',
  MULTIPLE_ANCHORS: 'a value can have one anchor only',
  MULTIPLE_DOCS: 'the file holds a second document after ---; expected one',
  MULTIPLE_TAGS: 'a value can have one tag only',
  NON_STRING_KEY: 'a key must be a plain text',
  RESOURCE_EXHAUSTION: 'too many levels inside each other',
  TAB_AS_INDENT: 'a tab cannot indent; use blanks',
  TAG_RESOLVE_FAILED: 'unknown tag; expected plain values, lists and maps',
  UNEXPECTED_TOKEN: 'this does not belong here; is a quote, a bracket or a blank missing before it?',
};

const DEEPEST = 8;

const NAME_AND_END = /(secret:[A-Za-z0-9][A-Za-z0-9_.-]*?|[A-Za-z_][A-Za-z0-9_]*)(:-|\})/y;

// Enough for a file that reuses its anchors a lot, far too little for one that multiplies them.
const MOST_ALIASES = 1000;

/**
 * How variables and secrets get into the values. Switch `expand` off for files that users of the program write, and
 * `secrets` to `show` for values that somebody sees: references to secrets then stay as they are.
 */
export type YamlOptions = { env?: Environment; expand?: boolean; secrets?: 'resolve' | 'show' };

/** Reads a YAML text into the shape of the schema; fails with file, line and column of everything wrong. */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  { file, env = process.env, expand = true, secrets = 'resolve' }: YamlOptions & { file: string },
): z.output<Schema> {
  const source = parseSource(text.replace(/^\uFEFF/, ''), file);
  const misspelt = syntaxProblems(source);
  if (misspelt.length > 0) refuse(source, misspelt);
  const expanded = expand ? expandScalars(source, env, secrets) : new Set<Scalar>();
  return validate(source, schema, expanded);
}

// Replaces references in all values, not in keys; returns the values that stood without quotes.
function expandScalars(source: YamlSource, env: Environment, secrets: 'resolve' | 'show'): Set<Scalar> {
  const plain = new Set<Scalar>();
  const problems: Problem[] = [];
  visit(source.document, {
    Scalar(role, scalar, path) {
      if (role === 'key' || typeof scalar.value !== 'string' || !scalar.value.includes('${')) return;
      const place = placeOf(scalar, path);
      const user = `${source.file}: ${place}`;
      const lookUp = (name: string): Found => {
        if (!name.startsWith('secret:')) return resolveVariable(name, env) ?? { unset: unsetWords(name) };
        const secret = name.slice('secret:'.length);
        if (secrets === 'show') return { value: secretReference(secret) };
        const found = resolveSecret(secret, env, user);
        return 'unset' in found ? { unset: `${place}: ${found.unset}` } : found;
      };
      const expansion = expandVariables(scalar.value, lookUp);
      problems.push(...expansion.problems.map((found) => problemIn(source, scalar, found)));
      scalar.value = expansion.text;
      if (scalar.type === Scalar.PLAIN) plain.add(scalar);
    },
  });
  if (problems.length > 0) refuse(source, problems);
  return plain;
}

// The keys that lead to a value, as people write them: `mcp.servers[0].headers.authorization`.
function placeOf(scalar: Scalar, path: readonly unknown[]): string {
  return [...path, scalar].reduce<string>((place, node, index, nodes) => {
    const above = nodes[index - 1];
    if (isPair(node))
      return `${place}${place === '' ? '' : '.'}${shownName(String((node.key as Scalar).value))}`;
    return isSeq(above) ? `${place}[${above.items.indexOf(node)}]` : place;
  }, '');
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

/** Something wrong with a reference: `reference` is the start of it as it stands in the text. */
type ExpansionProblem = { readonly reference: string; readonly words: string };

type Expansion = { readonly text: string; readonly problems: readonly ExpansionProblem[] };

/** Looks up a variable, or a secret as `secret:name`. */
type LookUp = (name: string) => Found;

type Cursor = {
  readonly source: string;
  readonly lookUp: LookUp;
  readonly problems: ExpansionProblem[];
  position: number;
  depth: number;
  /** Whether what is being read will be part of the result. */
  needed: boolean;
};

/** Puts values in place of `${NAME}`, `${NAME:-default}` and `${secret:name}`; `$${` stands for a plain `${`. */
function expandVariables(source: string, lookUp: LookUp): Expansion {
  const cursor: Cursor = { source, lookUp, problems: [], position: 0, depth: 0, needed: true };
  const text = expandText(cursor);
  return { text, problems: cursor.problems };
}

// Reads to the end, or inside a default to the brace that closes it.
function expandText(cursor: Cursor): string {
  const { source } = cursor;
  let text = '';
  while (cursor.position < source.length) {
    if (source.startsWith('$${', cursor.position)) text += skip(cursor, 3).slice(1);
    else if (source.startsWith('${', cursor.position)) text += expandReference(cursor);
    else if (cursor.depth > 0 && source[cursor.position] === '}') return text;
    else text += skip(cursor, 1);
  }
  if (cursor.depth > 0) complain(cursor, `\${`, `a \${ is never closed by }`);
  return text;
}

function expandReference(cursor: Cursor): string {
  NAME_AND_END.lastIndex = cursor.position + 2;
  const match = NAME_AND_END.exec(cursor.source);
  if (match?.[1] === undefined || cursor.depth >= DEEPEST) {
    const words = cursor.source.startsWith('${secret:', cursor.position)
      ? `expected \${secret:name}, with a name of letters, digits, dots, dashes and underscores`
      : `expected \${NAME} or \${NAME:-default}; write $\${ for a plain \${`;
    complain(cursor, cursor.source.slice(cursor.position, cursor.position + 12), words);
    return skip(cursor, 2);
  }
  const [whole, name, end] = match;
  skip(cursor, 2 + whole.length);
  const found = cursor.needed ? cursor.lookUp(name) : { unset: '' };
  const fallback = end === ':-' ? expandDefault(cursor, 'unset' in found) : undefined;
  if ('value' in found) return found.value;
  if ('problem' in found) complain(cursor, `\${${name}`, found.problem);
  else if (fallback === undefined && cursor.needed) complain(cursor, `\${${name}`, found.unset);
  return fallback ?? '';
}

// A default that is not used may name variables that are not set.
function expandDefault(cursor: Cursor, used: boolean): string {
  const { needed } = cursor;
  cursor.needed = needed && used;
  cursor.depth++;
  const text = expandText(cursor);
  cursor.depth--;
  cursor.needed = needed;
  skip(cursor, 1);
  return text;
}

function unsetWords(name: string): string {
  return `the variable ${name} is not set; set it, or write \${${name}:-default}`;
}

function complain({ problems }: Cursor, reference: string, words: string): void {
  if (!problems.some((problem) => problem.words === words)) problems.push({ reference, words });
}

function skip(cursor: Cursor, length: number): string {
  const skipped = cursor.source.slice(cursor.position, cursor.position + length);
  cursor.position += length;
  return skipped;
}

/** What makes the text no YAML, and aliases that lead nowhere. */
/** What is no proper YAML, one problem a line. */
export function syntaxProblems(source: YamlSource): Problem[] {
  const { errors, warnings } = source.document;
  const told = [...errors, ...warnings].map((error) => ({
    offset: error.pos[0],
    words: describeSyntaxError(error, source),
  }));
  return told.length > 0 ? firstOfEachLine(told, source) : lostAliases(source);
}

function describeSyntaxError({ code, pos }: YAMLError, { text }: YamlSource): string {
  if (code === 'DUPLICATE_KEY') return `the key ${keyAt(text, pos[0])} stands twice in the same map`;
  const words = WORDS[code] ?? 'this is no valid YAML';
  return lineAt(text, pos[0]).includes('${') ? `${words}; put quotes around a value with \${...}` : words;
}

// One mistake often causes several errors in the same line.
function firstOfEachLine(problems: readonly Problem[], { lines }: YamlSource): Problem[] {
  const byLine = Map.groupBy(problems, ({ offset }) => lines.linePos(offset).line);
  return [...byLine.values()].flatMap(([first]) => first ?? []);
}

function keyAt(text: string, offset: number): string {
  return JSON.stringify(shownName(/^["']?([^"':\r\n]{0,80})/.exec(text.slice(offset))?.[1]?.trim() ?? ''));
}

function lineAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end === -1 ? text.length : end);
}

function lostAliases({ document }: YamlSource): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return;
      problems.push({
        offset: alias.range?.[0] ?? 0,
        words: 'no anchor of this name stands before the alias; put a text that begins with * in quotes',
      });
    },
  });
  return problems;
}
