import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
} from 'yaml';
import { ConfigError } from '../config-error.ts';

/** A parsed file, with the way back from a node to its line. */
export type YamlSource = {
  readonly file: string;
  readonly text: string;
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
};

/** Something wrong at an offset of the text. */
export type Problem = { readonly offset: number; readonly words: string };

/** What a path leads to: the deepest node there is, its key in the file, and whether the whole path was found. */
export type Place = { readonly node: unknown; readonly key: unknown; readonly complete: boolean };

export function parseSource(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    // The long form quotes the file, which may hold secrets.
    prettyErrors: false,
    merge: true,
    stringKeys: true,
    resolveKnownTags: false,
  });
  return { file, text, document, lines };
}

/** Fails with all problems in the order of the file. */
export function refuse({ file, lines }: YamlSource, problems: readonly Problem[]): never {
  const ordered = [...problems].sort((left, right) => left.offset - right.offset);
  const told = ordered.map(({ offset, words }) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}: ${words}`;
  });
  throw new ConfigError(`${file} cannot be used:`, [...new Set(told)]);
}

/** Fails with one problem that concerns the whole file. */
export function refuseWhole(source: YamlSource, words: string): never {
  return refuse(source, [{ offset: 0, words }]);
}

/** Follows a path of keys and indexes, through aliases and merged maps; what it leads to may be an alias itself. */
export function findPlace({ document }: YamlSource, path: readonly PropertyKey[]): Place {
  let place: Place = { node: document.contents, key: undefined, complete: true };
  for (const step of path) {
    const next = stepInto(document, resolveAlias(document, place.node), step);
    if (next === undefined) return { ...place, complete: false };
    place = next;
  }
  return place;
}

/** Where to point: at a value that is wrong, at the key of a collection, or at what should hold a missing key. */
export function offsetOf({ node, key, complete }: Place): number {
  const target =
    (complete && (isScalar(node) || isAlias(node))) || key === undefined || key === null ? node : key;
  return (target as Node | null)?.range?.[0] ?? 0;
}

function stepInto(document: Document, node: unknown, step: PropertyKey): Place | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return item === undefined ? undefined : { node: item, key: item, complete: true };
  }
  return isMap(node) ? stepIntoMap(document, node.items, step) : undefined;
}

function stepIntoMap(document: Document, items: readonly unknown[], step: PropertyKey): Place | undefined {
  const pairs = items.filter(isPair);
  const own = pairs.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  if (own !== undefined) return { node: own.value, key: own.key, complete: true };
  const merged = pairs.filter(({ key }) => isScalar(key) && key.value === '<<').map(({ value }) => value);
  return firstPlace(document, merged, step);
}

function firstPlace(document: Document, merged: readonly unknown[], step: PropertyKey): Place | undefined {
  for (const value of merged) {
    const node = resolveAlias(document, value);
    const found = isSeq(node) ? firstPlace(document, node.items, step) : stepInto(document, node, step);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The node that an alias stands for; any other stands for itself. */
export function resolveAlias(document: Document, node: unknown): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}
