import type { Plugin } from 'rolldown';

/**
 * Makes CommonJS chunks into what bin/load-program.js runs. Scripts cannot import: the loader does it for them. A raw
 * template becomes a plain one, as its characters beyond ASCII cannot be escaped. And what a chunk takes from others
 * becomes its own constants: rolldown asks a getter at each use, which took a twentieth of a research job. They are there by
 * then, as no two chunks may need each other.
 */
export function adaptToScript(): Plugin {
  return {
    name: 'trunkline-adapt-to-script',
    renderChunk(code) {
      const program = this.parse(code) as unknown as SyntaxNode;
      const taken = takenChunks(program, code);
      const edits: Edit[] = [];
      const changed = new Set<string>();
      walk(program, false, (node, isInFunction) => {
        edits.push(...scriptEdits(node, code), ...constantsFor(node, taken));
        if (isInFunction) for (const name of changedBy(node)) changed.add(name);
      });
      edits.push(...exportedValues(program, code, changed));
      for (const { name, end, used } of taken.values()) {
        const constants = [...used].map((member) => `${member}: ${constantName(name, member)}`);
        if (constants.length > 0)
          edits.push({ start: end, end, text: `\nconst { ${constants.join(', ')} } = ${name};` });
      }
      return apply(code, edits);
    },
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      refuseCircles(new Map(chunks.map(({ fileName, imports }) => [fileName, imports])));
    },
  };
}

/** A chunk that is loaded before one that it needs would take constants that are not there yet. */
function refuseCircles(importsOf: ReadonlyMap<string, readonly string[]>): void {
  const done = new Set<string>();
  const visit = (name: string, before: readonly string[]): void => {
    if (before.includes(name)) throw new Error(`chunks need each other: ${[...before, name].join(' -> ')}`);
    if (done.has(name)) return;
    for (const next of importsOf.get(name) ?? []) visit(next, [...before, name]);
    done.add(name);
  };
  for (const name of importsOf.keys()) visit(name, []);
}

/** What is looked at of a node. */
interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  body?: SyntaxNode[];
  kind?: string;
  declarations?: { id: unknown }[];
  name?: string;
  left?: SyntaxNode;
  argument?: SyntaxNode;
  object?: { name?: string };
  property?: { name?: string };
  computed?: boolean;
  tag?: SyntaxNode;
  quasi?: { start: number; quasis: { start: number; end: number }[] };
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

function apply(code: string, edits: Edit[]): string {
  const pieces: string[] = [];
  let place = 0;
  for (const { start, end, text } of edits.toSorted((left, right) => left.start - right.start)) {
    pieces.push(code.slice(place, start), text);
    place = end;
  }
  return `${pieces.join('')}${code.slice(place)}`;
}

function walk(
  value: unknown,
  isInFunction: boolean,
  visit: (node: SyntaxNode, isInFunction: boolean) => void,
): void {
  if (typeof value !== 'object' || value === null) return;
  const node = value as SyntaxNode;
  if (typeof node.type === 'string') visit(node, isInFunction);
  // What a class sets for each of its objects runs later too.
  const isWithin = isInFunction || /Function|PropertyDefinition|AccessorProperty/.test(node.type ?? '');
  for (const child of Object.values(value)) walk(child, isWithin, visit);
}

function scriptEdits({ type, start, tag, quasi }: SyntaxNode, code: string): Edit[] {
  if (type === 'ImportExpression') return [{ start, end: start + 'import'.length, text: '__import' }];
  if (type !== 'TaggedTemplateExpression' || !tag || !quasi) return [];
  if (code.slice(tag.start, tag.end) !== 'String.raw') return [];
  const texts = quasi.quasis.map(({ start, end }) => {
    const raw = code.slice(start, end);
    return { start, end, text: raw.replaceAll('\\', String.raw`\\`).replace(/`|\$(?=\{)/g, String.raw`\$&`) };
  });
  return [{ start, end: quasi.start, text: '' }, ...texts];
}

/** Another chunk that this one takes values from. */
interface TakenChunk {
  /** The variable that holds its exports. */
  name: string;
  /** Where its declaration ends. */
  end: number;
  /** The exports that are used. */
  used: Set<string>;
}

/** By the variables that hold their exports. */
function takenChunks({ body = [] }: SyntaxNode, code: string): Map<string, TakenChunk> {
  const found = body.flatMap(({ start, end }): TakenChunk[] => {
    const [, name] = /^const ([\w$]+) = require\("\.\/[^"]+"\);$/.exec(code.slice(start, end)) ?? [];
    return name === undefined ? [] : [{ name, end, used: new Set() }];
  });
  return new Map(found.map((taken) => [taken.name, taken]));
}

function constantsFor(node: SyntaxNode, taken: ReadonlyMap<string, TakenChunk>): Edit[] {
  if (node.type !== 'MemberExpression' || node.computed) return [];
  const [from, member] = [taken.get(node.object?.name ?? ''), node.property?.name];
  if (from === undefined || member === undefined) return [];
  from.used.add(member);
  return [{ start: node.start, end: node.end, text: constantName(from.name, member) }];
}

function constantName(name: string, member: string): string {
  return `${name}$${member}`;
}

/** The variables that an assignment or a loop changes. */
function changedBy({ type, left, argument }: SyntaxNode): string[] {
  const target = type === 'UpdateExpression' ? argument : left;
  if (!CHANGES.has(type) || target === undefined) return [];
  if (target.type === 'MemberExpression' || target.type === 'VariableDeclaration') return [];
  return namesIn(target);
}

const CHANGES = new Set(['UpdateExpression', 'AssignmentExpression', 'ForOfStatement', 'ForInStatement']);

/** The variables of a pattern: "{ a, b: [c] }". */
function namesIn(pattern: unknown): string[] {
  const names: string[] = [];
  walk(pattern, false, ({ type, name }) => {
    if (type === 'Identifier' && name !== undefined) names.push(name);
  });
  return names;
}

const GETTER =
  /^Object\.defineProperty\(exports, "([^"]+)", \{\s+enumerable: true,\s+get: function \(\) \{\s+return ([\w$]+);\s+\}\s+\}\);$/;

/** Exports as plain values. Others would not see one that changes later. */
function exportedValues({ body = [] }: SyntaxNode, code: string, changed: ReadonlySet<string>): Edit[] {
  const variables = body.filter(({ kind }) => kind === 'let' || kind === 'var');
  const names = new Set(
    variables.flatMap(({ declarations = [] }) => declarations.flatMap(({ id }) => namesIn(id))),
  );
  return body.flatMap(({ start, end }) => {
    const [, member, name = ''] = GETTER.exec(code.slice(start, end)) ?? [];
    if (member === undefined) return [];
    if (names.has(name) && changed.has(name))
      throw new Error(`${name} may change after others took it: export a function that gives it`);
    return [{ start, end, text: `exports[${JSON.stringify(member)}] = ${name};` }];
  });
}
