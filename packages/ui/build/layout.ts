// Where the sources of each service's pages are, and where the built ones go.

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemCode } from '@trunkline/std';
import type { HtmlTagDescriptor, Plugin } from 'vite';

const ATTEMPTS = 20;

const THEME = join(import.meta.dirname, '../src/theme');

const FIRST_FONT = 'instrument-sans-latin-wght-normal.woff2';

/** Where the sources of each set of pages are, and where the built ones go; every service serves the "shared" ones beside its own. */
const PAGE_FOLDERS = {
  voice: ['apps/voice/client', 'apps/voice/dist'],
  agent: ['apps/agent/console', 'apps/agent/dist'],
  research: ['apps/research/client', 'apps/research/dist'],
  switchboard: ['apps/switchboard/console', 'apps/switchboard/dist'],
  shared: ['packages/ui/pages', 'packages/ui/dist'],
} as const;

export type PageApp = keyof typeof PAGE_FOLDERS;
export const PAGE_APPS = Object.keys(PAGE_FOLDERS) as PageApp[];

export interface PagesOptions {
  app: PageApp;
  /** The repository; by default the one this file is in. */
  root?: string;
  /** Where the built pages go; by default apps/<app>/dist. The shared pages are not built then. */
  outDir?: string;
  /** Called before a build that takes some seconds. */
  onBuild?: () => void;
}

export interface Pages {
  /** Holds index.html and the other pages, and their assets. */
  directory: string;
  /** False when the pages were fresh already. */
  built: boolean;
}

export interface PageLayout {
  root: string;
  /** Holds the *.html entries. */
  source: string;
  output: string;
  /** The folder under the output for scripts, styles and fonts. */
  assets: string;
}

export function layoutOf({ app, root = repository(), outDir }: PagesOptions): PageLayout {
  const [source, output] = PAGE_FOLDERS[app];
  return {
    root: resolve(root),
    source: join(resolve(root), source),
    output: outDir === undefined ? join(resolve(root), output) : resolve(outDir),
    // The contract of voice names /static/* for the assets of its page.
    assets: app === 'voice' ? 'static' : 'assets',
  };
}

function repository(): string {
  return resolve(import.meta.dirname, '../../..');
}

/** Gives every page its icon, its colours for the browser's frame, the script that sets the theme, and the first font early. */
export function pageHead(): Plugin {
  return {
    name: 'trunkline-page-head',
    apply: 'build',
    buildStart() {
      for (const name of ['boot.js', 'icon.svg']) {
        this.emitFile({ type: 'asset', name, source: readFileSync(join(THEME, name)) });
      }
    },
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) => {
        const address = (name: string) => `./${assetNamed(name, Object.values(bundle))}`;
        return headTags(address);
      },
    },
  };
}

function headTags(address: (name: string) => string): HtmlTagDescriptor[] {
  return [
    // Runs before anything is painted, so that a stored theme does not flash.
    { tag: 'script', attrs: { src: address('boot.js') } },
    { tag: 'link', attrs: { rel: 'icon', type: 'image/svg+xml', href: address('icon.svg') } },
    {
      tag: 'link',
      attrs: { rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: true, href: address(FIRST_FONT) },
    },
    { tag: 'meta', attrs: { name: 'color-scheme', content: 'light dark' } },
    themeColor('light', '#faf8f4'),
    themeColor('dark', '#14151a'),
  ];
}

function themeColor(scheme: string, content: string): HtmlTagDescriptor {
  return { tag: 'meta', attrs: { name: 'theme-color', media: `(prefers-color-scheme: ${scheme})`, content } };
}

interface Output {
  fileName: string;
  type: 'asset' | 'chunk';
  names?: string[];
}

function assetNamed(name: string, outputs: Output[]): string {
  const found = outputs.find((output) => output.type === 'asset' && output.names?.includes(name));
  if (found === undefined)
    throw new Error(`The bundle has no ${name}: the page must import @trunkline/ui/styles.css.`);
  return found.fileName;
}

/** A directory beside the target that no other process uses. */
export function temporarySibling(target: string): string {
  mkdirSync(dirname(target), { recursive: true });
  return `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
}

/** Puts a finished directory in the target's place; of several processes that do so at once, each leaves a whole one. */
export function replaceDirectory(finished: string, target: string): void {
  for (let attempt = 1; ; attempt += 1) {
    discard(target);
    try {
      renameSync(finished, target);
      return;
    } catch (error) {
      // Another process put its own there in between: take that away and try again.
      if (!isOccupied(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

// Renaming first keeps a reader from meeting a half-removed directory.
function discard(target: string): void {
  const old = temporarySibling(target);
  try {
    renameSync(target, old);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

function isOccupied(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(systemCode(error) ?? '');
}
