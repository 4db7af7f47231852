import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensurePages } from './ensure.ts';
import type { PageApp } from './layout.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const scratch = temporaryDirectory();
const root = scratch.path;

// A repository with the real design system and pages of a few lines, so that a build is quick.
beforeAll(() => {
  cpSync(join(REPOSITORY, 'package-lock.json'), join(root, 'package-lock.json'));
  mkdirSync(join(root, 'packages'));
  symlinkSync(join(REPOSITORY, 'packages/ui'), join(root, 'packages/ui'));
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'));
  writePage('voice', 'client');
  writePage('agent', 'console');
  writeFileSync(join(root, 'apps/agent/console/app.html'), html('./main.ts'));
});

afterAll(() => scratch.remove());

function html(script: string): string {
  return `<!doctype html><html lang="en"><head><title>Page</title></head><body><script type="module" src="${script}"></script></body></html>`;
}

function writePage(app: PageApp, folder: string): void {
  const directory = join(root, 'apps', app, folder);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'index.html'), html('./main.ts'));
  writeScript(app, folder, `document.body.dataset.page = '${app}';`);
}

function writeScript(app: PageApp, folder: string, code: string): void {
  writeFileSync(join(root, 'apps', app, folder, 'main.ts'), `import '@trunkline/ui/styles.css';\n${code}\n`);
}

function scriptOf(directory: string, assets: string): string {
  const name = readdirSync(join(directory, assets)).find((file) => /^(index|main)-.*\.js$/.test(file));
  return readFileSync(join(directory, assets, name ?? ''), 'utf8');
}

describe('ensurePages', () => {
  it('builds what is not built, and leaves what is fresh alone', async () => {
    const first = await ensurePages({ app: 'voice', root });
    expect(first).toEqual({ directory: join(root, 'apps/voice/dist'), built: true });
    expect(await ensurePages({ app: 'voice', root })).toEqual({ ...first, built: false });
  });

  it('puts the assets of voice under static, with relative addresses and hashed names', async () => {
    const { directory } = await ensurePages({ app: 'voice', root });
    const page = readFileSync(join(directory, 'index.html'), 'utf8');
    const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]);
    expect(addresses.length).toBeGreaterThanOrEqual(5);
    for (const address of addresses)
      expect(address).toMatch(/^\.\/static\/[\w-]+-[\w-]{8}\.(js|css|svg|woff2)$/);
  });

  it('writes nothing into the page that a strict content policy refuses', async () => {
    const { directory } = await ensurePages({ app: 'voice', root });
    const page = readFileSync(join(directory, 'index.html'), 'utf8');
    const styles = readdirSync(join(directory, 'static')).filter((file) => file.endsWith('.css'));
    expect(page).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
    expect(readFileSync(join(directory, 'static', styles[0]!), 'utf8')).not.toMatch(
      /url\(["']?(data|https?):/,
    );
  });

  it('builds again when a source changes', async () => {
    await ensurePages({ app: 'voice', root });
    writeScript('voice', 'client', "document.body.dataset.page = 'changed';");
    const { directory, built } = await ensurePages({ app: 'voice', root });
    expect(built).toBe(true);
    expect(scriptOf(directory, 'static')).toContain('changed');
  });

  it('takes every page of the folder', async () => {
    const { directory } = await ensurePages({ app: 'agent', root });
    expect(readdirSync(directory).sort()).toEqual(['.pages-stamp', 'app.html', 'assets', 'index.html']);
  });

  it('says what is wrong with a page, and keeps the last good one', async () => {
    writeScript('voice', 'client', "document.body.dataset.page = 'good';");
    const { directory } = await ensurePages({ app: 'voice', root });
    writeScript('voice', 'client', 'const broken = ;');
    const error = await ensurePages({ app: 'voice', root }).catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: 'PAGES_NOT_BUILT', message: expect.stringContaining('main.ts:2') });
    expect(String(error)).not.toContain('\u001B');
    expect(scriptOf(directory, 'static')).toContain('good');
    expect(readdirSync(join(root, 'apps/voice')).sort()).toEqual(['client', 'dist']);
  });

  it('leaves whole pages when several processes build at once', async () => {
    writeScript('voice', 'client', "document.body.dataset.page = 'mended';");
    const outDir = join(root, 'elsewhere/pages');
    const options = { arguments: ['--force', '--root', root, '--out', outDir, 'voice'] };
    const builders = [1, 2].map(() => startChild(join(import.meta.dirname, 'main.ts'), options));
    const exits = await Promise.all(builders.map((child) => child.exited));
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
    expect(scriptOf(outDir, 'static')).toContain('mended');
    expect(readdirSync(join(root, 'elsewhere'))).toEqual(['pages']);
    expect(await ensurePages({ app: 'voice', root, outDir })).toMatchObject({ built: false });
  });
});

it('refuses a service that has no pages', async () => {
  const builder = startChild(join(import.meta.dirname, 'main.ts'), {
    arguments: ['--root', root, 'telegraph'],
  });
  expect((await builder.exited).code).toBe(2);
  expect(builder.output()).toContain(
    'There are no pages called telegraph. There are: voice, agent, research, switchboard, shared.',
  );
});
