import { type ErrorCode, visit, type YAMLError } from 'yaml';
import { shownName } from './shown-name.ts';
import type { Problem, YamlSource } from './source.ts';

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

/** What makes the text no YAML, and aliases that lead nowhere. */
export function syntaxProblems(source: YamlSource): Problem[] {
  const { errors, warnings } = source.document;
  const told = [...errors, ...warnings].map((error) => ({
    offset: error.pos[0],
    words: wordsOf(error, source),
  }));
  return told.length > 0 ? firstOfEachLine(told, source) : lostAliases(source);
}

function wordsOf({ code, pos }: YAMLError, { text }: YamlSource): string {
  if (code === 'DUPLICATE_KEY') return `the key ${keyAt(text, pos[0])} stands twice in the same map`;
  const words = WORDS[code] ?? 'this is no valid YAML';
  return lineAt(text, pos[0]).includes('${') ? `${words}; put quotes around a value with \${...}` : words;
}

// One slip makes the parser stumble several times in the same line.
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
