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
  return select(changedSince(base), relatedTests(vitest, base), git('ls-files', '*.browser.test.ts'));
}

/**
 * Plain tests run whenever they import what changed. Slow ones run when they stand in a folder with a change; browser
 * tests also when a page of their app has changed, which they do not import.
 */
export function select(changed: string[], related: TestFile[], browserTests: string[]): Selection {
  const folders = new Set(changed.map(dirname));
  const isNear = ({ file, project }: TestFile) => project === 'plain' || folders.has(dirname(file));
  const ofPages = browserTests.filter((test) => changed.some((file) => isPageOf(file, test)));
  const chosen = new Set([...related.filter(isNear).map(({ file }) => file), ...ofPages]);
  const leftOut = related.map(({ file }) => file).filter((file) => !chosen.has(file));
  return { chosen: [...chosen], leftOut };
}

function isPageOf(file: string, test: string): boolean {
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
