import { type SearchServer, startSearchServer } from '@trunkline/testing';
import { createSearxng, SearchError, type SearxngOptions } from '@trunkline/tools';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { corpus } from '../fixtures/corpus.ts';
import { SearchDesk } from './desk.ts';
import { createKeyless } from './keyless.ts';
import { createMediawiki } from './mediawiki.ts';
import { createSearxngSource } from './searxng.ts';

const { signal } = new AbortController();
const searxng = (options: SearxngOptions) => createSearxngSource(createSearxng(options));
const query = { text: 'tidal power', limit: 3 };
let plain: SearchServer;
let guarded: SearchServer;

beforeAll(async () => {
  plain = await startSearchServer({ pages: corpus });
  guarded = await startSearchServer({ pages: corpus, basicAuth: 'reader:secret', extracts: false });
});
afterEach(() => {
  plain.faults.searxng = 'none';
});
afterAll(() => Promise.all([plain.stop(), guarded.stop()]));

describe('SearXNG', () => {
  it('asks for JSON by the documented fields', async () => {
    const found = await searxng({ url: plain.searxngUrl, timeoutMs: 5000 }).search(
      { ...query, categories: 'news', timeRange: 'month' },
      signal,
    );
    expect(found).toHaveLength(3);
    const asked = new URL(`http://x${plain.requests.at(-1)?.split(' ')[1]}`).searchParams;
    expect(Object.fromEntries(asked)).toEqual({
      q: 'tidal power',
      format: 'json',
      pageno: '1',
      categories: 'news',
      time_range: 'month',
    });
  });

  it('sends the password, and says which variable to set without it', async () => {
    const open = searxng({ url: guarded.searxngUrl, timeoutMs: 5000, basicAuth: 'reader:secret' });
    expect(await open.search(query, signal)).toHaveLength(3);
    const closed = searxng({ url: guarded.searxngUrl, timeoutMs: 5000 });
    await expect(closed.search(query, signal)).rejects.toThrow('SEARXNG_BASIC_AUTH');
  });

  it('gives up after its time, and stops with its caller', async () => {
    plain.faults.searxng = 'hang';
    await expect(searxng({ url: plain.searxngUrl, timeoutMs: 100 }).search(query, signal)).rejects.toThrow(
      'cannot be reached',
    );
    const stop = new AbortController();
    const search = searxng({ url: plain.searxngUrl, timeoutMs: 60_000 }).search(query, stop.signal);
    stop.abort(new Error('enough'));
    await expect(search).rejects.toThrow('enough');
  });

  it('tells a limit of its rate', async () => {
    plain.faults.searxng = { status: 429 };
    await expect(searxng({ url: plain.searxngUrl, timeoutMs: 5000 }).search(query, signal)).rejects.toThrow(
      '429',
    );
  });
});

describe('MediaWiki', () => {
  it.each(['encyclopediaUrl', 'directory'] as const)(
    'searches and reads articles, given the %s',
    async (form) => {
      const url = form === 'directory' ? plain.encyclopediaUrl.replace('api.php', '') : plain.encyclopediaUrl;
      const wiki = createMediawiki({ url, timeoutMs: 5000 });
      const [first] = await wiki.search(query, signal);
      expect(first).toMatchObject({
        title: expect.stringContaining('idal power'),
        url: expect.stringContaining('curid='),
      });
      expect((await wiki.read?.(first!, signal))?.text).toContain('La Rance');
      expect(plain.requests.some((request) => request.includes('srwhat=text'))).toBe(true);
    },
  );

  it('reads articles where the wiki cannot give plain text', async () => {
    const wiki = createMediawiki({ url: guarded.encyclopediaUrl, timeoutMs: 5000 });
    const [first] = await wiki.search(query, signal);
    const read = await wiki.read?.(first!, signal);
    expect(read?.text).toContain('La Rance');
    expect(read?.text).not.toContain('<p>');
  });

  it('finds articles that lack some words of a long query, though the wiki wants every one', async () => {
    const wiki = createMediawiki({ url: plain.encyclopediaUrl, timeoutMs: 5000 });
    const found = await wiki.search({ text: 'statistics about tidal power overview', limit: 3 }, signal);
    expect(found.map(({ title }) => title)).toContainEqual(expect.stringContaining('Tidal power'));
    expect(await wiki.search({ text: 'overview of statistics', limit: 3 }, signal)).toEqual([]);
  });

  it('gives snippets without the markup of the article', async () => {
    const wiki = createMediawiki({ url: plain.encyclopediaUrl, timeoutMs: 5000 });
    const [first] = await wiki.search(query, signal);
    expect(first?.snippet).toMatch(/^[^'{[]+ the sea$/);
  });

  it('says what ENCYCLOPEDIA_URL must name', async () => {
    const wiki = createMediawiki({ url: `${plain.searxngUrl}/config/api.php`, timeoutMs: 5000 });
    await expect(wiki.search(query, signal)).rejects.toThrow('ENCYCLOPEDIA_URL');
  });
});

describe('the desk', () => {
  it('merges sources in turn, each address once, and names the one that fails', async () => {
    plain.faults.searxng = { status: 500 };
    const sources = [
      searxng({ url: plain.searxngUrl, timeoutMs: 5000 }),
      createMediawiki({ url: plain.encyclopediaUrl, timeoutMs: 5000 }),
    ];
    const desk = new SearchDesk({ sources });
    const { results, troubles } = await desk.search(query, ['web', 'encyclopedia'], signal);
    expect(results.every(({ source }) => source === 'mediawiki')).toBe(true);
    expect(troubles).toEqual([expect.stringContaining('status 500')]);
    expect(desk.health().map(({ name, state }) => `${name} ${state}`)).toEqual([
      'searxng failing',
      'mediawiki ok',
    ]);
    plain.faults.searxng = 'none';
    await desk.probe(signal);
    expect(desk.health().map(({ state }) => state)).toEqual(['ok', 'ok']);
  });

  it('leaves an unreachable keyless search alone for a while', async () => {
    let [asked, now] = [0, 0];
    const engine = {
      search: async () => {
        asked += 1;
        throw new SearchError('search_unreachable', 'DuckDuckGo cannot be reached.');
      },
    };
    const desk = new SearchDesk({ sources: [createKeyless(engine)], restMs: 1000, now: () => now });
    for (const time of [0, 500, 1500]) {
      now = time;
      expect((await desk.search(query, ['web'], signal)).troubles).toEqual(['DuckDuckGo cannot be reached.']);
    }
    expect(asked).toBe(2);
  });
});
