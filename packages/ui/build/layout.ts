// Where the sources of each service's pages are, and where the built ones go.
import { join, resolve } from 'node:path';

/** The folder of each service that holds its pages. */
const PAGE_FOLDERS = {
  voice: 'client',
  agent: 'console',
  research: 'client',
  switchboard: 'console',
} as const;

export type PageApp = keyof typeof PAGE_FOLDERS;
export const PAGE_APPS = Object.keys(PAGE_FOLDERS) as PageApp[];

export interface PagesOptions {
  app: PageApp;
  /** The repository; by default the one this file is in. */
  root?: string;
  /** Where the built pages go; by default apps/<app>/dist. */
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
  const home = join(resolve(root), 'apps', app);
  return {
    root: resolve(root),
    source: join(home, PAGE_FOLDERS[app]),
    output: outDir === undefined ? join(home, 'dist') : resolve(outDir),
    // The contract of voice names /static/* for the assets of its page.
    assets: app === 'voice' ? 'static' : 'assets',
  };
}

function repository(): string {
  return resolve(import.meta.dirname, '../../..');
}
