import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Env, Hono } from 'hono';
import { getMimeType } from 'hono/utils/mime';

/** Pages that are read: made on the server when asked for, with a style sheet and a script of the service itself. */
const READING_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const UI = join(import.meta.dirname, '../../ui');
const ICON = join(UI, 'src/theme/icon.svg');
/** Colours and fonts of every page that is made on the server. */
const BASE_STYLES = [join(UI, 'src/theme/tokens.css'), join(import.meta.dirname, 'fonts.css')];
const FONTS = {
  'sans.woff2': '@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2',
  'mono.woff2': '@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2',
};

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The colours and fonts, and the icon as an address, for a page that must look right where nobody may load anything. */
export function readTheme(): { style: string; icon: string } {
  const icon = readFileSync(ICON).toString('base64');
  return {
    style: BASE_STYLES.map((sheet) => readFileSync(sheet, 'utf8')).join(''),
    icon: `data:image/svg+xml;base64,${icon}`,
  };
}

/** Text that is safe between tags and inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

export interface ReadingPage {
  title: string;
  /** The service, whose own page the brand leads to. */
  current: 'docs' | 'help';
  /** HTML of the column beside the text: search and table of contents. */
  side: string;
  /** HTML of the text. */
  main: string;
}

export function readingPage({ title, current, side, main }: ReadingPage): Response {
  const link = (name: ReadingPage['current'], words: string) =>
    `<a href="/${name}"${name === current ? ' aria-current="page"' : ''}>${words}</a>`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<script src="/docs/boot.js"></script>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/page.js" defer></script>
</head>
<body data-page="${current}">
<a class="skip" href="#main">Skip to the text</a>
<header class="bar">
<a class="brand" href="/"><img src="/docs/icon.svg" alt="" width="24" height="24">Trunkline</a>
<nav aria-label="Pages">${link('help', 'Help')}${link('docs', 'API')}</nav>
</header>
<div class="layout">
<aside class="side">${side}</aside>
<main id="main" tabindex="-1">${main}</main>
</div>
</body>
</html>
`;
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': READING_POLICY };
  return new Response(html, { headers });
}

/** The style sheet, scripts, icon and fonts of these pages. */
export function mountReadingAssets<E extends Env>(app: Hono<E>): void {
  const files = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  app.get('/docs/:file', async (context, next) => {
    const name = context.req.param('file');
    const load = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    if (load === undefined) return next();
    const known = files.get(name) ?? load();
    files.set(name, known);
    const type = getMimeType(name) ?? 'application/octet-stream';
    const isFont = name.endsWith('.woff2');
    const headers = {
      'content-type': type,
      'cache-control': isFont ? 'public, max-age=86400' : 'no-cache',
    };
    return new Response(await known, { headers });
  });
}

type Load = () => Promise<Uint8Array<ArrayBuffer>>;

const ASSETS: Readonly<Record<string, Load | undefined>> = {
  'style.css': async () => {
    const sheets = [...BASE_STYLES, join(import.meta.dirname, 'reading.css')];
    return Buffer.concat(await Promise.all(sheets.map((sheet) => readFile(sheet))));
  },
  'page.js': () => readFile(join(import.meta.dirname, 'reading.js')),
  'boot.js': () => readFile(join(UI, 'src/theme/boot.js')),
  'icon.svg': () => readFile(ICON),
  ...Object.fromEntries(
    Object.entries(FONTS).map(([name, path]): [string, Load] => [
      name,
      () => readFile(createRequire(join(UI, 'package.json')).resolve(path)),
    ]),
  ),
};
