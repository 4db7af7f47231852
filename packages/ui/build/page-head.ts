import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HtmlTagDescriptor, Plugin } from 'vite';

const THEME = join(import.meta.dirname, '../src/theme');
const FIRST_FONT = 'instrument-sans-latin-wght-normal.woff2';

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
