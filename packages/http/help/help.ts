import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env, Hono } from 'hono';
import { getMimeType } from 'hono/utils/mime';
import { withoutLastSlashes } from '../app/context.ts';
import { escapeHtml, readingPage } from '../reading/shell.ts';
import { type HelpPage, readManual, searchManual, snippetOf } from './manual.ts';

const DOCS = join(import.meta.dirname, '../../../docs');

const FOLDERS: Readonly<Record<string, string>> = {
  '': 'Guides',
  tutorials: 'Tutorials',
  surfaces: 'Surfaces',
  reference: 'Reference',
};

/** By directory: the services of a process show the same pages. */
const manuals = new Map<string, Promise<Map<string, HelpPage>>>();

/** The documentation at `/help`, with search. Pages are read with the first request. */
export function mountHelp<E extends Env>(app: Hono<E>, directory: string = DOCS): void {
  const manual = () => {
    const reading = manuals.get(directory) ?? readManual(directory);
    manuals.set(directory, reading);
    return reading;
  };
  app.get('/help', async (context) => {
    const query = (context.req.query('q') ?? '').slice(0, 200);
    const pages = await manual();
    return query.trim() === '' ? show(pages, '') : found(pages, query);
  });
  app.get('/help/images/:name', async (context, next) => {
    const name = context.req.param('name');
    const folder = join(directory, 'images');
    if (!(await readdir(folder)).includes(name)) return next();
    const headers = {
      'content-type': getMimeType(name) ?? 'application/octet-stream',
      'cache-control': 'no-cache',
    };
    return new Response(await readFile(join(folder, name)), { headers });
  });
  app.get('/help/*', async (context) => {
    const name = withoutLastSlashes(context.req.path.slice('/help/'.length)).replace(/\.md$/, '');
    return show(await manual(), name);
  });
}

function show(pages: ReadonlyMap<string, HelpPage>, name: string): Response {
  const page = pages.get(name);
  if (page === undefined) {
    const main = `<h1>There is no such page</h1><p>Search for it, or start at the <a href="/help">index</a>.</p>`;
    const response = readingPage({ title: 'Help', current: 'help', side: sideOf(pages, undefined), main });
    return new Response(response.body, { status: 404, headers: response.headers });
  }
  return readingPage({
    title: `${page.title} · Trunkline help`,
    current: 'help',
    side: sideOf(pages, page),
    main: `<article class="prose">${page.html}</article>`,
  });
}

function found(pages: ReadonlyMap<string, HelpPage>, query: string): Response {
  const hits = searchManual(pages.values(), query);
  const items = hits.map((hit) => {
    const { page, section } = hit;
    const place = page.title === section.heading ? page.title : `${page.title} › ${section.heading}`;
    return `<li><a href="${addressOf(page)}#${escapeHtml(section.id)}">${escapeHtml(place)}</a><p>${snippetOf(hit, query)}</p></li>`;
  });
  const count = hits.length === 1 ? '1 place' : `${hits.length} places`;
  const words =
    hits.length === 0
      ? `Nothing has all of these words. Try fewer, or start at the <a href="/help">index</a>.`
      : `${count} with “${escapeHtml(query)}”.`;
  return readingPage({
    title: 'Search · Trunkline help',
    current: 'help',
    side: sideOf(pages, undefined, query),
    main: `<div class="prose"><h1>Search</h1><p role="status">${words}</p><ul class="found">${items.join('')}</ul></div>`,
  });
}

function addressOf({ name }: HelpPage): string {
  return name === '' ? '/help' : `/help/${name}`;
}

function sideOf(pages: ReadonlyMap<string, HelpPage>, current: HelpPage | undefined, query = ''): string {
  const groups = Map.groupBy([...pages.values()], ({ name }) => folderOf(name, pages));
  const lists = [...groups].map(([folder, listed]) => {
    const items = listed.map((page) => {
      const mark = page === current ? ' aria-current="page"' : '';
      return `<li><a href="${addressOf(page)}"${mark}>${escapeHtml(page.title)}</a></li>`;
    });
    return `<h2>${escapeHtml(FOLDERS[folder] ?? folder)}</h2><ul>${items.join('')}</ul>`;
  });
  return `<form role="search" action="/help"><input type="search" name="q" value="${escapeHtml(query)}" aria-label="Search the documentation" placeholder="Search  /" maxlength="200"></form>
<details class="fold" open><summary>Contents</summary>${contentsOf(current)}<nav aria-label="All pages">${lists.join('')}</nav></details>`;
}

/** The index of a folder stands with its pages. */
function folderOf(name: string, pages: ReadonlyMap<string, HelpPage>): string {
  if (name.includes('/')) return name.split('/')[0] ?? '';
  return [...pages.keys()].some((other) => name !== '' && other.startsWith(`${name}/`)) ? name : '';
}

function contentsOf(page: HelpPage | undefined): string {
  const sections = (page?.sections ?? []).filter(({ level }) => level === 2 || level === 3);
  if (sections.length < 2) return '';
  const items = sections.map(
    ({ id, level, heading }) =>
      `<li${level === 3 ? ' class="deep"' : ''}><a href="#${escapeHtml(id)}">${escapeHtml(heading)}</a></li>`,
  );
  return `<nav aria-label="On this page"><details open><summary>On this page</summary><ul>${items.join('')}</ul></details></nav>`;
}
