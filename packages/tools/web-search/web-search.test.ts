import { freePort, type KeyedSearchServer, searchKey, startKeyedSearch } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { type PageServer, send, startPages } from '../page-server.suite.ts';
import { createBrave } from './brave.ts';
import { createDuckDuckGo } from './duckduckgo.ts';
import { createSearchEngine } from './engines.ts';
import { createSearxng } from './searxng.ts';
import { createTavily } from './tavily.ts';
import { createWebSearch, type SearchEngine } from './web-search.ts';

describe('web search', () => {
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
  const searxng = (path: string, timeoutMs = 60_000) =>
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
});

describe('keyed', () => {
  let server: KeyedSearchServer;
  const { signal } = new AbortController();

  beforeAll(async () => {
    server = await startKeyedSearch();
  });
  beforeEach(() => {
    Object.assign(server, { answers: [], headers: {} });
    server.requests.length = 0;
  });
  afterAll(() => server.stop());

  const brave = (apiKey = searchKey) => createBrave({ apiKey, url: server.braveUrl, timeoutMs: 60_000 });
  const tavily = (apiKey = searchKey) => createTavily({ apiKey, url: server.tavilyUrl, timeoutMs: 60_000 });
  const engines = { brave, tavily };
  const both = Object.keys(engines) as (keyof typeof engines)[];

  describe('Brave Search', () => {
    it('asks by the published fields, and gives plain text', async () => {
      const found = await brave().search('tidal power', 50, signal, { timeRange: 'month' });
      expect(found).toEqual([
        {
          title: 'Tidal power - Wikipedia',
          url: 'https://en.wikipedia.org/wiki/Tidal_power',
          snippet: "Tidal power is harnessed by converting energy from tides & currents; it's predictable.",
          publishedDate: '2025-02-12T19:36:35',
        },
        { title: 'Tides & energy', url: 'https://tides.example/energy', snippet: '' },
      ]);
      const [{ method, url } = { url: new URL('http://none') }] = server.requests;
      expect([method, url.pathname, Object.fromEntries(url.searchParams)]).toEqual([
        'GET',
        '/res/v1/web/search',
        { q: 'tidal power', count: '20', result_filter: 'web', text_decorations: 'false', freshness: 'pm' },
      ]);
    });

    it('shortens a query to what the API takes', async () => {
      await brave().search('tide '.repeat(80), 5, signal);
      await brave().search('x'.repeat(900), 5, signal);
      const asked = server.requests.map(({ url }) => url.searchParams.get('q') ?? '');
      expect([asked[0]?.split(' ').length, asked[1]?.length]).toEqual([50, 400]);
    });

    it('tells a query that is refused from a key', async () => {
      server.answers = [{ status: 422, body: '{"type":"ErrorResponse","error":{"code":"VALIDATION"}}' }];
      await expect(brave().search('x', 5, signal)).rejects.toThrow('Brave Search answered with status 422.');
    });

    it('knows from its windows how long to wait', async () => {
      server.answers = ['limited'];
      server.headers = { 'x-ratelimit-remaining': '1, 0', 'x-ratelimit-reset': '1, 1419704' };
      await expect(brave().search('x', 5, signal)).rejects.toThrow('It asks to wait 395 hours.');
      server.answers = ['limited'];
      server.headers = { 'x-ratelimit-remaining': '0, 1000', 'x-ratelimit-reset': '1, 1419704' };
      expect(await brave().search('x', 5, signal)).toHaveLength(2);
    });
  });

  describe('Tavily', () => {
    it('asks by the published fields, and gives plain text', async () => {
      const found = await tavily().search('Who is Leo Messi?', 3, signal, {
        categories: 'news',
        timeRange: 'day',
      });
      expect(found).toEqual([
        {
          title: 'Lionel Messi Facts | Britannica',
          url: 'https://www.britannica.com/facts/Lionel-Messi',
          snippet:
            'Lionel Messi, an Argentine footballer, is widely regarded as one of the greatest football players & captains of his generation.',
        },
      ]);
      const [{ method, url, body } = { url: new URL('http://none'), body: '{}' }] = server.requests;
      expect([method, url.pathname, JSON.parse(body)]).toEqual([
        'POST',
        '/search',
        {
          query: 'Who is Leo Messi?',
          max_results: 3,
          search_depth: 'basic',
          topic: 'news',
          time_range: 'day',
        },
      ]);
    });
  });

  describe.each(both)('%s', (name) => {
    const variable = `${name.toUpperCase()}_API_KEY`;

    it('gives nothing where nothing is found', async () => {
      server.answers = ['empty'];
      expect(await engines[name]().search('zxqv', 5, signal)).toEqual([]);
    });

    it('names the variable of a key that is refused, and never the key', async () => {
      const refused = engines[name]('wrong-key').search('x', 5, signal);
      await expect(refused).rejects.toThrow(`does not take the key: check ${variable}.`);
      await expect(refused).rejects.not.toThrow('wrong-key');
      server.answers = [{ status: 401, body: '{}' }];
      await expect(engines[name]().search('x', 5, signal)).rejects.toThrow(variable);
    });

    it('keeps a short pause that it asks for, and says a long one', async () => {
      server.answers = ['limited', 'limited'];
      server.headers = { 'retry-after': '0' };
      const engine = engines[name]();
      const found = await Promise.all([engine.search('x', 5, signal), engine.search('y', 5, signal)]);
      expect(found.every(({ length }) => length > 0)).toBe(true);
      expect(server.requests).toHaveLength(4);
      server.answers = ['limited'];
      server.headers = { 'retry-after': '40' };
      await expect(engine.search('x', 5, signal)).rejects.toThrow(
        'limits how often it is asked (status 429). It asks to wait 40',
      );
    });

    it('stops a pause with its caller', async () => {
      server.answers = ['limited'];
      server.headers = { 'retry-after': '3' };
      const stop = new AbortController();
      const search = engines[name]().search('x', 5, stop.signal);
      await expect.poll(() => server.requests).toHaveLength(1);
      stop.abort(new Error('enough'));
      await expect(search).rejects.toThrow('enough');
    });

    it('says that the plan is used up', async () => {
      server.answers = ['quota'];
      await expect(engines[name]().search('x', 5, signal)).rejects.toThrow('Change the plan');
    });

    it('says that a page answers in its place', async () => {
      server.answers = ['html'];
      await expect(engines[name]().search('x', 5, signal)).rejects.toThrow(`${name.toUpperCase()}_API_URL`);
    });
  });

  it('is what web_search asks where a key is set and no SearXNG', async () => {
    const none = { searxngUrl: undefined, searxngBasicAuth: undefined, braveApiKey: undefined };
    const urls = { braveApiUrl: server.braveUrl, tavilyApiUrl: server.tavilyUrl };
    const ask = async (keys: {
      braveApiKey?: string;
      tavilyApiKey: string | undefined;
      searxngUrl?: string;
    }) =>
      await callTool(createWebSearch(createSearchEngine({ ...none, ...urls, ...keys })), {
        query: 'tidal power',
      });
    expect(await ask({ tavilyApiKey: searchKey })).toContain(
      '1. Lionel Messi Facts | Britannica — https://www',
    );
    expect(await ask({ braveApiKey: searchKey, tavilyApiKey: searchKey })).toContain(
      '1. Tidal power - Wikipedia',
    );
    const own = { searxngUrl: server.braveUrl, braveApiKey: searchKey, tavilyApiKey: undefined };
    expect(await ask(own)).toMatch(/^Error: SearXNG at/);
  });
});
