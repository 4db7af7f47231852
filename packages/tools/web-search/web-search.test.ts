import { freePort } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { type PageServer, send, startPages } from '../page-server.suite.ts';
import { createDuckDuckGo } from './duckduckgo.ts';
import { createSearxng } from './searxng.ts';
import { createWebSearch, type SearchEngine } from './web-search.ts';

let pages: PageServer;
let posted = '';

const row = (title: string, href: string, snippet = '', kind = '') =>
  `<div class="result results_links web-result ${kind}"><h2 class="result__title"><a class="result__a" href="${href}">${title}</a></h2><a class="result__snippet">${snippet}</a></div>`;
const through = (url: string) => `//duckduckgo.com/l/?uddg=${encodeURIComponent(url)}&amp;rut=abc`;

const many = Array.from({ length: 14 }, (_, index) =>
  row(`Hit ${index + 1}`, through(`https://example.com/${index + 1}`)),
);
const answers = {
  results: [
    { title: 'One', url: 'https://one.example/', content: 'First\n snippet', engines: ['a'] },
    { title: null, url: 'https://two.example/', content: null },
  ],
};

beforeAll(async () => {
  pages = await startPages({
    '/html/': (response, request) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        posted = body;
        const ad = row('Buy', 'https://duckduckgo.com/y.js?ad=1', 'ad', 'result--ad');
        const rows = `${ad}${row('A <b>bold</b> &amp; title', through('https://example.com/a?x=1&y=2'), 'Some <b>words</b>\n here')}${row('Plain', 'https://plain.example/')}${row('Bad', 'javascript:alert(1)')}`;
        send('text/html', `<html><body>${rows}</body></html>`)(response);
      });
    },
    '/many/': send('text/html', many.join('')),
    '/none/': send('text/html', '<div class="no-results">No results.</div>'),
    '/robot/': send(
      'text/html',
      '<div class="anomaly-modal__title">Unfortunately, bots use it too.</div>',
      202,
    ),
    '/limited/': send('text/html', 'slow down', 429),
    '/down/': send('text/html', 'oops', 503),
    '/strange/': send('text/html', '<h1>Welcome</h1>'),
    '/sx/search': send('application/json', JSON.stringify(answers)),
    '/closed/search': send('text/html', 'forbidden', 403),
    '/page/search': send('text/html', '<html>not json</html>'),
    '/odd/search': send('application/json', '{"results": "none"}'),
    '/busy/search': send('text/plain', 'later', 429),
    '/tired/search': send('application/json', '{"results": [], "unresponsive_engines": [["a", "Obey!"]]}'),
    '/hang/search': () => undefined,
  });
});
afterAll(() => pages.stop());

const search = (path: string, input: object) =>
  callTool(createWebSearch(createDuckDuckGo({ url: `${pages.url}${path}` })), input);
const searxng = (path: string, timeoutMs = 5000) =>
  callTool(createWebSearch(createSearxng({ url: `${pages.url}${path}`, timeoutMs })), { query: 'cats' });

describe('web_search', () => {
  it('lists titles, addresses and snippets without a key [A073]', async () => {
    const text = await search('/html/', { query: "  what's new? " });
    expect(text).toBe(
      [
        "2 result(s) for 'what's new?':",
        '1. A bold & title — https://example.com/a?x=1&y=2',
        '   Some words here',
        '2. Plain — https://plain.example/',
      ].join('\n'),
    );
    expect(new URLSearchParams(posted).get('q')).toBe("what's new?");
  });

  it.each([
    [undefined, 5],
    [0, 1],
    [-3, 1],
    [3, 3],
    [50, 10],
  ])('gives %s results as %s [A073] [A188]', async (max_results, count) => {
    const text = await search('/many/', {
      query: 'x',
      ...(max_results === undefined ? {} : { max_results }),
    });
    expect(text.split('\n')).toHaveLength(count + 1);
    expect(text).toMatch(new RegExp(`^${count} result\\(s\\) for 'x':\n1\\. Hit 1 — `));
  });

  it('says that there are none', async () => {
    expect(await search('/none/', { query: 'zxqv' })).toBe("0 result(s) for 'zxqv':");
    expect(await search('/none/', { query: 'see https://a.example/?d=1 now' })).toBe(
      "0 result(s) for 'see [address] now':",
    );
  });

  it.each([
    ['/robot/', 'takes this machine for a robot.*SEARXNG_URL'],
    ['/limited/', 'takes this machine for a robot'],
    ['/down/', 'status 503'],
    ['/strange/', 'holds no results'],
  ])('names the failure of %s [A073]', async (path, words) => {
    expect(await search(path, { query: 'x' })).toMatch(new RegExp(`^Error: DuckDuckGo .*${words}`));
  });

  it('names an engine that cannot be reached', async () => {
    const engine = createDuckDuckGo({ url: `http://127.0.0.1:${await freePort()}/` });
    expect(await callTool(createWebSearch(engine), { query: 'x' })).toMatch(
      /^Error: DuckDuckGo cannot be reached: .*Check the network, or set SEARXNG_URL/,
    );
  });

  it('says of a result whether it holds what others wrote', async () => {
    const isOurs = async (engine: SearchEngine) => {
      let ours = false;
      const ownWords = () => {
        ours = true;
      };
      await callTool(createWebSearch(engine), { query: 'x' }, undefined, { ownWords });
      return ours;
    };
    const duck = (path: string) => createDuckDuckGo({ url: `${pages.url}${path}` });
    expect(await isOurs(createDuckDuckGo({ url: `http://127.0.0.1:${await freePort()}/` }))).toBe(true);
    expect(await isOurs(duck('/none/'))).toBe(true);
    expect(await isOurs(duck('/limited/'))).toBe(true);
    expect(await isOurs(duck('/many/'))).toBe(false);
    expect(await isOurs(createSearxng({ url: `${pages.url}/tired` }))).toBe(false);
  });

  it('refuses an empty query', async () => {
    expect(await search('/html/', { query: '  ' })).toBe('Error: the query is empty.');
  });

  it('asks SearXNG when one is configured [A073]', async () => {
    expect(await searxng('/sx')).toBe(
      "2 result(s) for 'cats':\n1. One — https://one.example/\n   First snippet\n2. https://two.example/ — https://two.example/",
    );
    expect(pages.requests).toContain('GET /sx/search?q=cats&format=json&pageno=1');
  });

  it.each([
    ['/closed', 'search.formats'],
    ['/page', 'SEARXNG_URL'],
    ['/odd', 'SEARXNG_URL'],
    ['/busy', 'Wait a while'],
    ['/nowhere', 'status 404'],
  ])('names the failure of SearXNG at %s', async (path, words) => {
    expect(await searxng(path)).toMatch(new RegExp(`^Error: SearXNG at .*${words}`));
  });

  it('gives up on a SearXNG that hangs', async () => {
    expect(await searxng('/hang', 100)).toMatch(/^Error: SearXNG at .* cannot be reached: .*within 100 ms/);
  });
});
