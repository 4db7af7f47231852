import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { secondsOf } from './durations.ts';
import { ImportGraph } from './import-graph.ts';

const repository = join(import.meta.dirname, '../..');
/** Of a worker: four of them mostly wait, so that two cores do this in about two minutes. */
const LIMIT_S = 280;
/** What touches every test. */
const EVERYWHERE = new Set(['vitest.config.ts', 'package-lock.json']);

export interface Selection {
  /** Files to run. */
  chosen: string[];
  /** Files that import what changed and are not run, nearest first. */
  leftOut: string[];
}

/** The tests for what differs from main, or for the last commit where nothing does. */
export function selectChanged(root = repository): Selection {
  const list = (command: string, ...args: string[]) => git(root, '\0', command, '-z', ...args);
  const untracked = list('ls-files', '--others', '--exclude-standard');
  const deleted = new Set(list('ls-files', '--deleted'));
  const tracked = list('ls-files').filter((file) => !deleted.has(file));
  const files = [...new Set([...tracked, ...untracked])];
  const changed = [...list('diff', '--name-only', findBase(root, untracked)), ...untracked];
  const distances = distancesOf(changed, new ImportGraph(root, files), files);
  if (changed.some((file) => EVERYWHERE.has(file)))
    for (const file of files) if (!distances.has(file)) distances.set(file, Number.MAX_SAFE_INTEGER);
  return select(changed, files, distances, secondsOf, LIMIT_S);
}

/** How far each file is from the changed ones: by imports, and the nearest tests of what no import names. */
export function distancesOf(
  changed: readonly string[],
  graph: ImportGraph,
  files: readonly string[],
): Map<string, number> {
  const distances = graph.distances(changed);
  for (const file of changed.filter(isData))
    for (const test of nearestTests(file, files)) if (!distances.has(test)) distances.set(test, 1);
  return distances;
}

/**
 * Always runs the changed tests, those of a changed file's name, and those in its folder that import it; of a changed page
 * the browser tests of its app. Then plain tests by the number of imports between them and the change, until the time is
 * used up. Slow tests from afar are left out.
 */
export function select(
  changed: readonly string[],
  files: readonly string[],
  distances: ReadonlyMap<string, number>,
  estimate: (file: string) => number,
  limitS: number,
): Selection {
  const folders = new Set(changed.filter((file) => !isData(file)).map(dirname));
  const tests = files.filter((file) => file.endsWith('.test.ts'));
  const isNear = (test: string) =>
    (distances.has(test) && (changed.includes(test) || folders.has(dirname(test)))) ||
    changed.some((file) => isNamedAfter(file, test) || isPageOf(file, test));
  const chosen = tests.filter(isNear);
  const far = tests
    .filter((test) => distances.has(test) && !isNear(test))
    .map((test) => ({ test, distance: distances.get(test) ?? 0, seconds: estimate(test) }))
    .toSorted((left, right) => left.distance - right.distance || left.seconds - right.seconds);
  let left = limitS - chosen.reduce((sum, test) => sum + estimate(test), 0);
  const leftOut: string[] = [];
  for (const { test, seconds } of far) {
    const fits = !isSlow(test) && seconds <= left;
    if (fits) left -= seconds;
    (fits ? chosen : leftOut).push(test);
  }
  return { chosen, leftOut };
}

/** What a program reads while it runs: no import names it. */
function isData(file: string): boolean {
  return /^(?:apps|packages)\/.*\.(?!tsx?$)\w+$/.test(file);
}

/** The tests in the folder of a file, or in the nearest folder above it that has some. */
function nearestTests(file: string, files: readonly string[]): string[] {
  for (let folder = dirname(file); folder.includes('/'); folder = dirname(folder)) {
    const tests = files.filter((test) => test.endsWith('.test.ts') && dirname(test) === folder);
    if (tests.length > 0) return tests;
  }
  return [];
}

export function isSlow(test: string): boolean {
  return /\.(?:isolated|browser|live)\.test\.ts$/.test(test);
}

function isNamedAfter(file: string, test: string): boolean {
  return test.startsWith(`${file.replace(/\.[^./]+$/, '')}.`);
}

function isPageOf(file: string, test: string): boolean {
  if (!test.endsWith('.browser.test.ts')) return false;
  const owner = /^(apps\/[^/]+)\/(client|console)\/|^(packages\/ui)\//.exec(file);
  return owner !== null && test.startsWith(`${owner[1] ?? owner[3]}/`);
}

function findBase(root: string, untracked: readonly string[]): string {
  const ask = (...args: string[]) => git(root, '\n', ...args);
  const [head = ''] = ask('rev-parse', 'HEAD');
  const main = ['main', 'origin/main'].find((name) => ask('rev-parse', '-q', '--verify', name).length > 0);
  const [base = head] = main ? ask('merge-base', 'HEAD', main) : [];
  const isUnchanged = untracked.length === 0 && ask('diff', '--name-only', head).length === 0;
  return base === head && isUnchanged ? 'HEAD~1' : base;
}

// No output where git fails: a repository without main, or with a single commit.
function git(root: string, separator: string, ...args: string[]): string[] {
  try {
    const output = execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: 64 * 1024 * 1024,
    });
    return output.split(separator).filter(Boolean);
  } catch {
    return [];
  }
}
