import { execFileSync } from 'node:child_process';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '../..');

export interface TestFile {
  /** From the root of the repository. */
  file: string;
  /** The project of vitest.config.ts. */
  project: string;
}

export interface Selection {
  /** Files to run. */
  chosen: string[];
  /** Slow files that import what changed from afar. */
  leftOut: string[];
}

/** The tests for what differs from main, or for the last commit where nothing does. */
export function selectChanged(vitest: string): Selection {
  const base = findBase();
  const slowTests = git('ls-files', '*.isolated.test.ts', '*.browser.test.ts');
  return select(changedSince(base), relatedTests(vitest, base), slowTests);
}

/**
 * Plain tests run whenever they import what changed. Slow ones run when they import it and stand in its folder. Two kinds
 * run without importing it: tests that bear the name of a changed file, which may start it as a process of its own, and
 * browser tests of an app whose page has changed.
 */
export function select(changed: string[], related: TestFile[], slowTests: string[]): Selection {
  const folders = new Set(changed.map(dirname));
  const isNear = ({ file, project }: TestFile) => project === 'plain' || folders.has(dirname(file));
  const unimported = slowTests.filter((test) =>
    changed.some((file) => isNamedAfter(file, test) || isPageOf(file, test)),
  );
  const chosen = new Set([...related.filter(isNear).map(({ file }) => file), ...unimported]);
  const leftOut = related.map(({ file }) => file).filter((file) => !chosen.has(file));
  return { chosen: [...chosen], leftOut };
}

function isNamedAfter(file: string, test: string): boolean {
  return test.startsWith(`${file.replace(/\.[^./]+$/, '')}.`);
}

function isPageOf(file: string, test: string): boolean {
  if (!test.endsWith('.browser.test.ts')) return false;
  const owner = /^(apps\/[^/]+)\/(client|console)\/|^(packages\/ui)\//.exec(file);
  return owner !== null && test.startsWith(`${owner[1] ?? owner[3]}/`);
}

function findBase(): string {
  const [head = ''] = git('rev-parse', 'HEAD');
  const main = ['main', 'origin/main'].find((name) => git('rev-parse', '-q', '--verify', name).length > 0);
  const [base = head] = main ? git('merge-base', 'HEAD', main) : [];
  return base === head && changedSince(head).length === 0 ? 'HEAD~1' : base;
}

function changedSince(base: string): string[] {
  return [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
}

function relatedTests(vitest: string, base: string): TestFile[] {
  const listed = execFileSync(
    process.execPath,
    [vitest, 'list', '--changed', base, '--filesOnly', '--json', '--passWithNoTests'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  const found = JSON.parse(listed.slice(Math.max(0, listed.indexOf('[')))) as {
    file: string;
    projectName: string;
  }[];
  return found.map(({ file, projectName }) => ({ file: relative(root, file), project: projectName }));
}

// No output where git fails: a repository without main, or with a single commit.
function git(...args: string[]): string[] {
  try {
    const output = execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    return output.split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
