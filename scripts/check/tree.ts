// Checks what linters cannot see: layers, the doors of packages, import circles, the size of files, private words, second
// copies of what packages/std has, and hosts named in the lock file.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import privateWords from './private-words.json' with { type: 'json' };

const MAXIMUM_LINES = 400;
const root = process.cwd();
const sources = listFiles().filter((file) => /^(apps|packages)\/.*\.(ts|tsx)$/.test(file));
const shipped = sources.filter(
  (file) => !/\.(test|suite)\.tsx?$|\/fixtures\/|^packages\/testing\//.test(file),
);

const rules: Record<string, () => string[]> = {
  imports: () => sources.flatMap((file) => importBreaches(file, read(file), root)),
  size: () => sources.filter((file) => !/\.test\.tsx?$/.test(file)).flatMap(sizeBreaches),
  circles: () => circleBreaches(new Map(shipped.map((file) => [file, read(file)]))),
  words: () => shipped.flatMap((file) => dialectBreaches(file, read(file))),
  copies: () => shipped.flatMap((file) => copyBreaches(file, read(file))),
  lock: lockBreaches,
};

function listFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

function sizeBreaches(file: string): string[] {
  const lines = read(file).split('\n').length - 1;
  if (lines <= MAXIMUM_LINES) return [];
  return [`${file}: ${lines} lines; split it by subject, at most ${MAXIMUM_LINES} lines a file`];
}

function lockBreaches(): string[] {
  const resolved = /"resolved": "https?:/.exec(read('package-lock.json'));
  return resolved
    ? ['package-lock.json: names where packages were downloaded from; .npmrc must omit it']
    : [];
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

const SCOPE = '@trunkline/';

/** Says, for one source file, which of its imports go against the layers of architecture. */
function importBreaches(file: string, text: string, root: string): string[] {
  const from = place(file);
  const breaches = importedNames(text).flatMap((name) => {
    if (name.startsWith('.')) return relativeBreach(file, from, name);
    return name.startsWith(SCOPE) ? packageBreach(file, from, name.slice(SCOPE.length), root) : [];
  });
  return breaches.map((words) => `${file}: ${words}`);
}

interface Place {
  kind: 'apps' | 'packages';
  name: string;
}

function place(file: string): Place {
  const [kind, name = ''] = file.split('/');
  return { kind: kind === 'apps' ? 'apps' : 'packages', name };
}

function importedNames(text: string): string[] {
  const pattern = /(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)(['"])([^'"\n]+)\1/g;
  return [...text.matchAll(pattern)].map((match) => match[2] ?? '');
}

// Inside a package its own index.ts is off limits, and no path may lead into another package.
function relativeBreach(file: string, from: Place, name: string): string[] {
  const target = normalize(join(dirname(file), name));
  if (!target.startsWith(`${from.kind}/${from.name}/`))
    return [`imports ${name}, a path into another package; use its name`];
  if (target === `${from.kind}/${from.name}/index.ts` && !isTest(file))
    return ['imports its own index.ts, the outer door of the package'];
  return [];
}

function packageBreach(file: string, from: Place, target: string, root: string): string[] {
  const name = target.split('/')[0] ?? '';
  if (name === 'testing')
    return isTest(file) || from.name === 'testing' ? [] : ['imports testing outside a test'];
  if (existsSync(join(root, 'apps', name))) return appBreach(from, name, isTest(file));
  if (from.name === 'ui' || isPage(file))
    return name === 'ui' || name === 'std' ? [] : [`a page imports server code (${name})`];
  return layerBreach(from, name, root);
}

function appBreach(from: Place, name: string, isTest: boolean): string[] {
  const composes = from.kind === 'apps' && from.name === 'trunkline';
  return composes || (isTest && from.name === name)
    ? []
    : [`imports the app ${name}; only apps/trunkline composes apps`];
}

// Tests, what several tests share, and the programs that tests start come in by the door, as users do.
function isTest(file: string): boolean {
  return /\.(test|suite)\.tsx?$/.test(file) || file.includes('/fixtures/');
}

function isPage(file: string): boolean {
  return /^apps\/[^/]+\/(client|console)\//.test(file) && !isTest(file);
}

function layerBreach(from: Place, name: string, root: string): string[] {
  if (from.kind === 'apps' || from.name === 'testing' || from.name === name) return [];
  const [own, other] = [layerOf(from.name, root), layerOf(name, root)];
  return other < own
    ? []
    : [`imports ${name} of layer ${other}, but ${from.name} is of layer ${own}; only smaller ones`];
}

function layerOf(name: string, root: string): number {
  const manifest = join(root, 'packages', name, 'package.json');
  if (!existsSync(manifest)) return Number.POSITIVE_INFINITY;
  const { trunkline } = JSON.parse(readFileSync(manifest, 'utf8')) as { trunkline?: { layer?: number } };
  return trunkline?.layer ?? Number.POSITIVE_INFINITY;
}

type Sources = ReadonlyMap<string, string>;

/** Circles of imports between files, those of types included: each is named once, by the import that closes it. */
function circleBreaches(sources: Sources): string[] {
  const breaches: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const visit = (file: string): void => {
    state.set(file, 'open');
    for (const target of importsOf(file, sources)) {
      if (state.get(target) === 'open')
        breaches.push(`${file}: imports ${target}, which closes an import circle`);
      else if (!state.has(target)) visit(target);
    }
    state.set(file, 'done');
  };
  for (const file of sources.keys()) if (!state.has(file)) visit(file);
  return breaches;
}

function importsOf(file: string, sources: Sources): string[] {
  const named = (sources.get(file) ?? '').matchAll(/\bfrom '(\.[^']+)'/g);
  const targets = [...named].map(([, path = '']) => normalize(join(dirname(file), path)));
  return [...new Set(targets)].filter((target) => sources.has(target));
}

/** Private words as patterns of whole identifiers, and what the field says instead. */
const dialect = Object.entries(privateWords).map(([word, better]) => ({
  pattern: new RegExp(`\\b(?:${word})\\b`, 'g'),
  better,
}));

function dialectBreaches(file: string, text: string): string[] {
  const code = withoutComments(text);
  return dialect.flatMap(({ pattern, better }) =>
    [...new Set([...code.matchAll(pattern)].map(([word]) => word))].map(
      (word) => `${file}: ${word} is a private word; say ${better}`,
    ),
  );
}

/** Mechanisms that stand once, in packages/std. */
const standard =
  'errorMessage|toError|formatDuration|KeyedQueue|ConcurrencyLimiter|Mutex|QueueFullError|CircuitBreaker|Breaker|Circuit|Deadline|startDeadline|withTimeout|whenAborted';
const declaration = new RegExp(`^(?:export )?(?:async )?(?:function|class|const) (${standard})\\b`, 'gm');
const inlineCopy = /\b(\w+) instanceof Error \? \1(?:\.message : String\(\1\)| : new Error\(String\(\1\)\))/g;

function copyBreaches(file: string, text: string): string[] {
  if (file.startsWith('packages/std/')) return [];
  const declared = [...text.matchAll(declaration)].map(([, name]) => `a second ${name}`);
  const inline = [...text.matchAll(inlineCopy)].map(() => 'a copy of errorMessage or toError');
  return [...new Set([...declared, ...inline])].map((what) => `${file}: ${what}; use @trunkline/std`);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

// Last, as the rules need the patterns above.
const breaches = Object.values(rules).flatMap((find) => find());
for (const breach of breaches) console.error(breach);
process.exit(breaches.length > 0 ? 1 : 0);
