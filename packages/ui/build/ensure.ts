import { type ExecFileException, execFile } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { layoutOf, type PageLayout, type Pages, type PagesOptions } from './layout.ts';
import { isFresh } from './stamp.ts';

export type { PageApp, Pages, PagesOptions } from './layout.ts';

const BUILD_LIMIT_MS = 180_000;
const BUILDER = join(import.meta.dirname, 'main.ts');

// One build at a time in a process: four services that start together would fight for the cores.
let lastBuild: Promise<unknown> = Promise.resolve();

/** By repository: four services that start together ask for them once. */
const shared = new Map<string | undefined, Promise<Pages>>();

/** Sees to it that a service's pages, and those that all services share, are built from the present sources; costs a few milliseconds when they are. */
export async function ensurePages(options: PagesOptions): Promise<Pages> {
  const pages = await ensureOne(options);
  if (options.outDir === undefined) await ensureShared(options);
  return pages;
}

async function ensureShared(options: PagesOptions): Promise<void> {
  const known = shared.get(options.root) ?? ensureOne({ ...options, app: 'shared' });
  shared.set(options.root, known);
  await known.catch((error: unknown) => {
    shared.delete(options.root);
    throw error;
  });
}

async function ensureOne(options: PagesOptions): Promise<Pages> {
  const layout = layoutOf(options);
  if (isFresh(layout.output, layout)) return { directory: layout.output, built: false };
  options.onBuild?.();
  const build = lastBuild.then(() => runBuilder(options, layout));
  lastBuild = build.catch(() => undefined);
  await build;
  return { directory: layout.output, built: true };
}

/** Builds in a process of its own, so that the bundler's memory is given back. */
function runBuilder({ app }: PagesOptions, { root, output }: PageLayout): Promise<void> {
  const args = [BUILDER, '--force', '--root', root, '--out', output, app];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { timeout: BUILD_LIMIT_MS }, (error, _output, errors) => {
      if (error) reject(buildError(app, error, errors));
      else resolve();
    });
  });
}

function buildError(app: string, error: ExecFileException, errors: string): Error {
  const reason = error.killed
    ? `it took longer than ${BUILD_LIMIT_MS / 1000} s`
    : stripVTControlCharacters(errors).trim();
  const advice = 'Run "npm ci", then start again; the folder of the service must be writable.';
  return Object.assign(
    new Error(`The pages of ${app} could not be built: ${reason}\n${advice}`, { cause: error }),
    {
      code: 'PAGES_NOT_BUILT',
    },
  );
}
