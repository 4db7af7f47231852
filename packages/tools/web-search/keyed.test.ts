import { type KeyedSearchServer, searchKey, startKeyedSearch } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { createBrave } from './brave.ts';
import { createSearchEngine } from './engines.ts';
import { createTavily } from './tavily.ts';
import { createWebSearch } from './web-search.ts';

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

const brave = (apiKey = searchKey) => createBrave({ apiKey, url: server.braveUrl, timeoutMs: 5000 });
const tavily = (apiKey = searchKey) => createTavily({ apiKey, url: server.tavilyUrl, timeoutMs: 5000 });
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
      { query: 'Who is Leo Messi?', max_results: 3, search_depth: 'basic', topic: 'news', time_range: 'day' },
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
  const ask = async (keys: { braveApiKey?: string; tavilyApiKey: string | undefined; searxngUrl?: string }) =>
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
