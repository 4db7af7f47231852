import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

const SCOPE = '@trunkline/';
/** Named by sources for other reasons than to read the files in them. */
const CODE = new Set(['apps', 'packages']);
/** What services read at the root, such as the guides, touches all of them, and hardly any of their tests. */
const OF_TESTS = /\.(?:test|suite)\.ts$|^packages\/testing\//;
/** A statement with `from`; `export * from` and names with `as` included. Types are gone before anything runs. */
const STATEMENT =
  /^(?:import|export)\s+(?!type\b)(?:([\w$]+)\s*,?\s*)?(\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})?\s*from\s+'([^']+)'/gm;
/** Whatever else names a file: an import while running, a worker, a program that a test starts, a fixture. */
const MENTION = /'(\.{1,2}\/[^'\n]+\.\w+|@trunkline\/[\w-]+(?:\/[\w-]+)?)'/g;
const TYPES = /^(?:import|export)\s+type\b[^;]*?from\s+'[^']+';?/gm;
const DECLARATION =
  /^export\s+(?:declare\s+)?(?:default\s+)?(?:async\s+)?(?:abstract\s+)?(?:function\*?|class|const|let|enum)\s+([\w$]+)/gm;

/** Which files use which, by the names that they import: who takes one name of a package uses no other file of it. */
export class ImportGraph {
  private readonly texts = new Map<string, string>();
  private readonly exported = new Map<string, Map<string, string>>();
  /** The files that use a file. */
  private readonly users = new Map<string, Set<string>>();
  /** The files that import a file, which may only pass on what they use. */
  private readonly importers = new Map<string, Set<string>>();
  private readonly root: string;
  private readonly files: ReadonlySet<string>;

  /** `files` are paths from the root, sources and what they may name. */
  constructor(root: string, files: readonly string[]) {
    this.root = root;
    this.files = new Set(files);
    for (const file of files) if (isSource(file)) this.read(file);
  }

  /** How many imports lie between each file and the nearest of the changed ones. */
  distances(changed: readonly string[]): Map<string, number> {
    const found = new Map(changed.map((file) => [file, 0]));
    for (const [file, distance] of found) {
      const next = new Set(this.users.get(file));
      if (distance === 0)
        for (const importer of [...(this.importers.get(file) ?? []), ...this.readersOf(file)])
          next.add(importer);
      // A map goes on with what is added while it is walked: nearest first.
      for (const user of next) if (!found.has(user)) found.set(user, distance + 1);
    }
    return found;
  }

  /** The sources that name a folder in which the file lies, beside them or, in tests, at the root, and so may read what is in it. */
  private readersOf(file: string): string[] {
    if (isSource(file)) return [];
    const sources = [...this.files].filter(isSource);
    const found: string[] = [];
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
      const parent = dirname(folder);
      const isNamed = (source: string) =>
        parent === '.'
          ? !CODE.has(folder) && OF_TESTS.test(source) && this.textOf(source).includes(`../${folder}'`)
          : dirname(source) === parent && this.textOf(source).includes(`'${basename(folder)}'`);
      found.push(...sources.filter(isNamed));
    }
    return found;
  }

  private read(file: string): void {
    const text = this.textOf(file);
    for (const [, first, names = '', target = ''] of text.matchAll(STATEMENT)) {
      const path = this.resolve(file, target);
      if (path === undefined) continue;
      add(this.importers, path, file);
      const wanted = names.startsWith('{') ? namesIn(names) : [];
      if (first !== undefined) wanted.push(['default', 'default']);
      if (names.startsWith('*')) add(this.users, path, file);
      else for (const [name] of wanted) add(this.users, this.declaringFile(path, name), file);
    }
    for (const [, target = ''] of text.replaceAll(STATEMENT, '').matchAll(MENTION)) {
      const path = this.resolve(file, target);
      if (path !== undefined) add(this.users, path, file);
    }
  }

  private textOf(file: string): string {
    const known = this.texts.get(file);
    if (known !== undefined) return known;
    const path = join(this.root, file);
    const text = existsSync(path) ? readFileSync(path, 'utf8').replaceAll(TYPES, '') : '';
    this.texts.set(file, text);
    return text;
  }

  private declaringFile(file: string, name: string): string {
    return this.exportsOf(file).get(name) ?? file;
  }

  /** The file that declares each exported name. */
  private exportsOf(file: string): Map<string, string> {
    const known = this.exported.get(file);
    if (known !== undefined) return known;
    const all = new Map<string, string>();
    this.exported.set(file, all);
    const text = this.textOf(file);
    for (const [, name = ''] of text.matchAll(DECLARATION)) all.set(name, file);
    for (const [statement, , names = '', target = ''] of text.matchAll(STATEMENT)) {
      const path = statement.startsWith('export') ? this.resolve(file, target) : undefined;
      if (path === undefined) continue;
      if (names === '*') for (const [name, from] of this.exportsOf(path)) all.set(name, from);
      else for (const [name, given] of namesIn(names)) all.set(given, this.declaringFile(path, name));
    }
    return all;
  }

  private resolve(from: string, target: string): string | undefined {
    const path = target.startsWith(SCOPE)
      ? this.entryOf(target.slice(SCOPE.length))
      : normalize(join(dirname(from), target));
    return path !== undefined && this.files.has(path) ? path : undefined;
  }

  private entryOf(name: string): string | undefined {
    const [folder = '', ...rest] = name.split('/');
    for (const parent of ['packages', 'apps']) {
      const manifest = join(parent, folder, 'package.json');
      if (!this.files.has(manifest)) continue;
      const { exports = {} } = JSON.parse(this.textOf(manifest)) as { exports?: Record<string, string> };
      const entry = exports[['.', ...rest].join('/')];
      return entry === undefined ? undefined : join(parent, folder, entry);
    }
    return undefined;
  }
}

function isSource(file: string): boolean {
  return /\.tsx?$/.test(file);
}

/** What a list in braces takes, and under which name it is passed on. */
function namesIn(list: string): [string, string][] {
  const entries = list
    .replaceAll(/[{}]|\/\/.*$/gm, '')
    .split(',')
    .map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== '' && !entry.startsWith('type '))
    .map((entry) => {
      const [name = '', given = name] = entry.split(/\s+as\s+/);
      return [name, given];
    });
}

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  if (key === value) return;
  const set = map.get(key) ?? new Set();
  map.set(key, set.add(value));
}
