import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const SCOPE = '@trunkline/';

/** Says, for one source file, which of its imports go against the layers of architecture. */
export function importBreaches(file: string, text: string, root: string): string[] {
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
