// Builds pages: node main.ts [--root DIR] [--out DIR] [--force] [APP...]; without an APP all pages, and the program.
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorMessage } from '@trunkline/std';
import {
  layoutOf,
  PAGE_APPS,
  type PageApp,
  type PageLayout,
  replaceDirectory,
  temporarySibling,
} from './layout.ts';
import { isFresh, sourceStamp, writeStamp } from './stamp.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { root: { type: 'string' }, out: { type: 'string' }, force: { type: 'boolean', default: false } },
});
const apps = positionals.length === 0 ? PAGE_APPS : positionals.map(pageApp);
if (values.out !== undefined && apps.length !== 1) fail('--out takes one set of pages: name it.');
try {
  for (const app of apps) await build(app);
  if (positionals.length === 0) await buildProgram();
} catch (error) {
  console.error(errorMessage(error));
  process.exitCode = 1;
}

async function build(app: PageApp): Promise<void> {
  const { root, out } = values;
  const layout = layoutOf({
    app,
    ...(root !== undefined && { root }),
    ...(out !== undefined && { outDir: out }),
  });
  if (!values.force && isFresh(layout.output, layout)) return console.log(`${app}: the pages are fresh`);
  const stamp = sourceStamp(layout);
  const started = performance.now();
  const temporary = temporarySibling(layout.output);
  try {
    await bundle(layout, temporary);
    writeStamp(temporary, stamp);
    replaceDirectory(temporary, layout.output);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  console.log(`${app}: pages built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

async function buildProgram(): Promise<void> {
  const started = performance.now();
  const { bundleProgram } = await import('./program.ts');
  await bundleProgram(
    layoutOf({ app: 'shared', ...(values.root !== undefined && { root: values.root }) }).root,
  );
  console.log(`program: bundled in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

// The bundler takes half a second to load: only when there is something to build.
async function bundle({ source, assets }: PageLayout, output: string): Promise<void> {
  const { bundlePages } = await import('./bundle.ts');
  await bundlePages({ source, output, assets });
}

function pageApp(name: string): PageApp {
  const found = PAGE_APPS.find((app) => app === name);
  return found ?? fail(`There are no pages called ${name}. There are: ${PAGE_APPS.join(', ')}.`);
}

function fail(words: string): never {
  console.error(words);
  process.exit(2);
}
