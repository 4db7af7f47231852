import { type Environment, readVariable } from '../environment/environment.ts';

const DEEPEST = 8;
const NAME_AND_END = /([A-Za-z_][A-Za-z0-9_]*)(:-|\})/y;

/** Something wrong with a reference: `reference` is the start of it as it stands in the text. */
type ExpansionProblem = { readonly reference: string; readonly words: string };
export type Expansion = { readonly text: string; readonly problems: readonly ExpansionProblem[] };

type Cursor = {
  readonly source: string;
  readonly env: Environment;
  readonly problems: ExpansionProblem[];
  position: number;
  depth: number;
  /** Whether what is being read will be part of the result. */
  needed: boolean;
};

/** Puts variables in place of `${NAME}` and `${NAME:-default}`; `$${` stands for a plain `${`. */
export function expandVariables(source: string, env: Environment): Expansion {
  const cursor: Cursor = { source, env, problems: [], position: 0, depth: 0, needed: true };
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
    const words = `expected \${NAME} or \${NAME:-default}; write $\${ for a plain \${`;
    complain(cursor, cursor.source.slice(cursor.position, cursor.position + 12), words);
    return skip(cursor, 2);
  }
  const [whole, name, end] = match;
  skip(cursor, 2 + whole.length);
  const value = readVariable(name, cursor.env);
  const fallback = end === ':-' ? expandDefault(cursor, value === undefined) : undefined;
  const text = value ?? fallback;
  if (text === undefined && cursor.needed) complain(cursor, `\${${name}`, unsetWords(name));
  return text ?? '';
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
