// The bundler's settings: hashed assets, relative addresses, and nothing inline that a strict content policy refuses.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { build, type InlineConfig } from 'vite';
import { pageHead } from './layout.ts';

export interface BundleOptions {
  /** The folder with the *.html entries. */
  source: string;
  output: string;
  /** The folder under the output for scripts, styles and fonts. */
  assets: string;
}

/** Bundles every *.html of a folder with all it needs. */
export async function bundlePages(options: BundleOptions): Promise<void> {
  const entries = htmlEntries(options.source);
  if (entries.length === 0)
    throw new Error(`There is no *.html in ${options.source}: add one with a root element.`);
  await build(configuration(options, entries));
}

function configuration({ source, output, assets }: BundleOptions, entries: string[]): InlineConfig {
  return {
    root: source,
    base: './',
    mode: 'production',
    configFile: false,
    envDir: false,
    logLevel: 'warn',
    // Said outright, so that the environment of the caller (a test run) does not yield a development build.
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { development: false } },
    plugins: [react(), tailwindcss(), pageHead()],
    resolve: {
      alias: {
        // The original writes <style> elements, which a strict content policy refuses.
        'react-style-singleton': fileURLToPath(import.meta.resolve('../src/lib/styleSingleton.ts')),
        // Pages read Markdown and never write it.
        'mdast-util-to-markdown': fileURLToPath(import.meta.resolve('../src/lib/noMarkdownWriter.ts')),
      },
      dedupe: ['react', 'react-dom'],
    },
    build: {
      outDir: output,
      emptyOutDir: false,
      assetsDir: assets,
      // A font or picture as a data: address would be refused by the content policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: ['chrome123', 'edge123', 'firefox128', 'safari17.5'],
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1000,
      rolldownOptions: { input: entries },
    },
  };
}

function htmlEntries(source: string): string[] {
  if (!existsSync(source)) return [];
  return readdirSync(source)
    .filter((name) => name.endsWith('.html'))
    .map((name) => join(source, name));
}
