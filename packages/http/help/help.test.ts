import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp } from '../fixtures/test-kit.ts';
import { mountHelp } from './help.ts';

function toyManual() {
  const directory = temporaryDirectory();
  onTestFinished(() => directory.remove());
  const files: Record<string, string> = {
    'README.md':
      '# Manual\n\n[Tea](tea.md), [pots](pots/README.md), [code](../apps/tea.ts), [web](https://example.com/).',
    'tea.md':
      '# Tea\n\nText & <b>more</b>.\n\n## Pour it\n\n![a cup](images/cup.svg)\n\n```sh\npour --hot\n```\n\n## Pour it\n\n| a | b |\n|---|---|\n| porcelain | 2 |\n\n[back](README.md), [lids](pots/README.md#lids), [gone](gone.md), [secret](../../etc/passwd)',
    'pots/README.md': '# Pots\n\n## Lids\n\nSee [tea](../tea.md#pour-it).',
    'images/cup.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(directory.path, file, '..'), { recursive: true });
    writeFileSync(join(directory.path, file), text);
  }
  writeFileSync(join(directory.path, 'hidden.txt'), 'nothing for readers');
  const app = new Hono();
  mountHelp(app, directory.path);
  return async (path: string) => {
    const response = await app.request(path);
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    };
  };
}

describe('/help', () => {
  it('shows a page with a table of contents, ids for headings, and links to pages', async () => {
    const get = toyManual();
    const { status, type, text } = await get('/help/tea');
    expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
    for (const part of [
      '<h2 id="pour-it">Pour it</h2>',
      '<h2 id="pour-it-1">',
      '<a href="#pour-it">Pour it</a>',
      '<img src="/help/images/cup.svg" alt="a cup"',
      '<td>porcelain</td>',
      '<a href="/help">back</a>',
      '<a href="/help/pots#lids">lids</a>',
      'aria-current="page">Tea</a>',
    ])
      expect(text).toContain(part);
    expect((await get('/help/tea.md')).text).toBe(text);
    expect((await get('/help/pots')).text).toContain('<a href="/help/tea#pour-it">tea</a>');
  });

  it('leads nowhere that is not served', async () => {
    const get = toyManual();
    expect((await get('/help/tea')).text).toMatch(/, gone, secret<\/p>/);
    const index = (await get('/help')).text;
    expect(index).toContain(', code, <a href="https://example.com/">web</a>');
    for (const path of [
      '/help/gone',
      '/help/images/gone.svg',
      '/help/hidden.txt',
      '/help/images/..%2Ftea.md',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
    expect((await get('/help/gone')).text).toContain('There is no such page');
    for (const path of ['/help/tea/', '/help/tea.md', '/help/tea.md//'])
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    // A pattern that goes over the rest at every slash would run into the time limit.
    expect((await get(`/help/${'/'.repeat(300_000)}x`)).status).toBe(404);
    expect(await get('/help/images/cup.svg')).toMatchObject({
      status: 200,
      type: 'image/svg+xml; charset=utf-8',
    });
  });

  it('finds sections that have every word, with the words marked', async () => {
    const get = toyManual();
    const { text } = await get('/help?q=porcelain%20pour');
    expect(text).toContain('<a href="/help/tea#pour-it-1">Tea › Pour it</a>');
    expect(text).toContain('<mark>porcelain</mark>');
    expect((await get('/help?q=porcelain%20kettle')).text).toContain('Nothing has all of these words');
    expect((await get('/help?q=%3Cscript%3E%22')).text).not.toContain('<script>"');
    expect((await get('/help?q=%5B%28')).status).toBe(200);
  });
});

it('serves our own documentation, in which every link within leads to a page and an anchor', async () => {
  const server = await startApp(() => undefined);
  const docs = join(import.meta.dirname, '../../../docs');
  const names = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.replace(/(^|\/)README\.md$/, '').replace(/\.md$/, ''));
  const pages = new Map<string, string>();
  for (const name of names) {
    const path = name === '' ? '/help' : `/help/${name}`;
    const response = await fetch(server.url + path);
    expect([path, response.status]).toEqual([path, 200]);
    pages.set(path, await response.text());
  }
  const broken: string[] = [];
  for (const [path, text] of pages) {
    const body = text.slice(text.indexOf('<article'));
    for (const [, target = ''] of body.matchAll(/(?:href|src)="((?:\/help|#)[^"]*)"/g)) {
      const [to = '', anchor] = target.split('#');
      if (to.startsWith('/help/images/')) readFileSync(join(docs, to.replace('/help/', '')));
      else {
        const page = pages.get(to || path);
        const isThere =
          page !== undefined && (anchor === undefined || page.includes(`id="${decodeURI(anchor)}"`));
        if (!isThere) broken.push(`${path}: ${target}`);
      }
    }
  }
  expect(broken).toEqual([]);
});
