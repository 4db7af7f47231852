import { ExtractionPool } from '@trunkline/documents';
import { suggestions } from '@trunkline/std';
import { openDatabase } from '@trunkline/storage';
import {
  type SearchServer,
  searchKey,
  startKeyedSearch,
  startSearchServer,
  temporaryDirectory,
} from '@trunkline/testing';
import { SearchError } from '@trunkline/tools';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { clientOf, corpus } from '../fixtures/lab.ts';
import { startResearch } from '../fixtures/service.ts';
import { toy } from '../fixtures/toy-source.ts';
import { DocumentStore } from '../store/documents.ts';
import { migrations } from '../store/schema.ts';
import { createSources, missingSources, sourceDefinitions } from './catalogue.ts';
import { mediawiki } from './mediawiki.ts';
import { SearchAggregator } from './search-aggregator.ts';
import type { SourceClient, SourceDefinition, SourceDeps } from './source.ts';
import { pages } from './stored.ts';
import { keyless, searxng } from './web.ts';

const { signal } = new AbortController();
const pool = new ExtractionPool({ threads: 1 });
const deps = (timeoutMs: number) => ({ timeoutMs, pool }) as SourceDeps;
const searxngAt = (
  searxngUrl: string,
  { timeoutMs = 5000, basicAuth }: { timeoutMs?: number; basicAuth?: string } = {},
) => searxng.create({ searxngUrl, searxngBasicAuth: basicAuth }, deps(timeoutMs)) as SourceClient;
const wikiAt = (encyclopediaUrl: string) => mediawiki.create({ encyclopediaUrl }, deps(5000)) as SourceClient;
/** As MediaWiki writes an article: an infobox, a table, a definition list and a note. */
const lighthouse = `<table class="infobox"><tbody><tr><th>First lit</th><td>1844</td></tr></tbody></table>
<p><b>Skerryvore</b> is a lighthouse that stands on a reef off the west coast of Scotland.<sup id="cite_ref-1" class="reference"><a href="#cite_note-1">[1]</a></sup></p>
<h2><span class="mw-headline">Towers</span></h2>
<table class="wikitable"><tbody><tr><th>Tower</th><th>Height</th></tr><tr><td>Bell Rock</td><td>35 m</td></tr></tbody></table>
<dl><dt>Automated</dt><dd>1994</dd></dl>
<ol class="references"><li id="cite_note-1"><span class="reference-text">The last keeper left in March 1994.</span></li></ol>`;
const query = { text: 'tidal power', limit: 3 };
let plain: SearchServer;
let guarded: SearchServer;

beforeAll(async () => {
  plain = await startSearchServer({ pages: corpus });
  guarded = await startSearchServer({ pages: corpus, basicAuth: 'reader:secret' });
});
afterEach(() => {
  plain.faults.searxng = 'none';
});
afterAll(() => Promise.all([plain.stop(), guarded.stop(), pool.stop()]));

describe('SearXNG', () => {
  it('asks for JSON by the documented fields', async () => {
    const found = await searxngAt(plain.searxngUrl).search(
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
    const open = searxngAt(guarded.searxngUrl, { basicAuth: 'reader:secret' });
    expect(await open.search(query, signal)).toHaveLength(3);
    const closed = searxngAt(guarded.searxngUrl);
    await expect(closed.search(query, signal)).rejects.toThrow('SEARXNG_BASIC_AUTH');
  });

  it('gives up after its time, and stops with its caller', async () => {
    plain.faults.searxng = 'hang';
    await expect(searxngAt(plain.searxngUrl, { timeoutMs: 100 }).search(query, signal)).rejects.toThrow(
      'cannot be reached',
    );
    const stop = new AbortController();
    const search = searxngAt(plain.searxngUrl, { timeoutMs: 60_000 }).search(query, stop.signal);
    stop.abort(new Error('enough'));
    await expect(search).rejects.toThrow('enough');
  });

  it('tells a limit of its rate', async () => {
    plain.faults.searxng = { status: 429 };
    await expect(searxngAt(plain.searxngUrl).search(query, signal)).rejects.toThrow('429');
  });
});

describe('MediaWiki', () => {
  it.each(['encyclopediaUrl', 'directory'] as const)(
    'searches and reads articles, given the %s',
    async (form) => {
      const url = form === 'directory' ? plain.encyclopediaUrl.replace('api.php', '') : plain.encyclopediaUrl;
      const wiki = wikiAt(url);
      const [first] = await wiki.search(query, signal);
      expect(first).toMatchObject({
        title: expect.stringContaining('idal power'),
        url: expect.stringContaining('curid='),
      });
      expect((await wiki.read?.(first!, signal))?.text).toContain('La Rance');
      expect(plain.requests.some((request) => request.includes('srwhat=text'))).toBe(true);
    },
  );

  it('reads articles whole, with their tables, boxes and notes', async () => {
    const body = { type: 'text/html', bytes: Buffer.from(lighthouse) };
    const page = {
      path: '/w',
      title: 'Skerryvore',
      text: 'Skerryvore is a lighthouse',
      encyclopedia: true,
      body,
    };
    const server = await startSearchServer({ pages: [page] });
    onTestFinished(() => server.stop());
    const wiki = wikiAt(server.encyclopediaUrl);
    const [first] = await wiki.search({ text: 'Skerryvore lighthouse', limit: 1 }, signal);
    const { text = '', isWhole, mainLength = 0, title } = (await wiki.read?.(first!, signal)) ?? {};
    expect(title).toBe('Skerryvore');
    expect(text).toContain('| Bell Rock | 35 m |');
    expect(text).toContain('Automated: 1994');
    expect(text).toContain('The last keeper left in March 1994.');
    expect(text).toContain('First lit: 1844');
    expect(text).not.toMatch(/<p>|\[1\]/);
    expect(isWhole).toBe(true);
    expect(text.slice(0, mainLength)).toContain('stands on a reef');
  });

  it('leaves an article without text to whoever reads its page', async () => {
    const page = {
      path: '/w',
      title: 'Skerryvore',
      text: 'Skerryvore is a lighthouse',
      encyclopedia: true,
      body: { type: 'text/html', bytes: Buffer.from('<img src="tower.jpg">') },
    };
    const server = await startSearchServer({ pages: [page] });
    onTestFinished(() => server.stop());
    const wiki = wikiAt(server.encyclopediaUrl);
    const [first] = await wiki.search({ text: 'Skerryvore lighthouse', limit: 1 }, signal);
    expect(await wiki.read?.(first!, signal)).toBeUndefined();
    const absent = { ...first!, url: first!.url.replace('curid=1', 'curid=9') };
    expect(await wiki.read?.(absent, signal)).toBeUndefined();
  });

  it('finds articles that lack some words of a long query, though the wiki wants every one', async () => {
    const wiki = wikiAt(plain.encyclopediaUrl);
    const found = await wiki.search({ text: 'statistics about tidal power overview', limit: 3 }, signal);
    expect(found.map(({ title }) => title)).toContainEqual(expect.stringContaining('Tidal power'));
    expect(await wiki.search({ text: 'overview of statistics', limit: 3 }, signal)).toEqual([]);
  });

  it('gives snippets without the markup of the article', async () => {
    const wiki = wikiAt(plain.encyclopediaUrl);
    const [first] = await wiki.search(query, signal);
    expect(first?.snippet).toMatch(/^[^'{[]+ the sea$/);
  });

  it('says what ENCYCLOPEDIA_URL must name', async () => {
    const wiki = wikiAt(`${plain.searxngUrl}/config/api.php`);
    await expect(wiki.search(query, signal)).rejects.toThrow('ENCYCLOPEDIA_URL');
  });
});

describe('the search aggregator', () => {
  it('merges sources in turn, each address once, and names the one that fails', async () => {
    plain.faults.searxng = { status: 500 };
    const sources = [
      { definition: searxng as SourceDefinition, client: searxngAt(plain.searxngUrl) },
      { definition: mediawiki as SourceDefinition, client: wikiAt(plain.encyclopediaUrl) },
    ];
    const aggregator = new SearchAggregator({ sources });
    const { results, troubles } = await aggregator.search(query, ['web', 'encyclopedia'], signal);
    expect(results.every(({ source }) => source === 'mediawiki')).toBe(true);
    expect(troubles).toEqual([expect.stringContaining('status 500')]);
    expect(aggregator.health().map(({ name, state }) => `${name} ${state}`)).toEqual([
      'searxng failing',
      'mediawiki ok',
    ]);
    plain.faults.searxng = 'none';
    await aggregator.probe(signal);
    expect(aggregator.health().map(({ state }) => state)).toEqual(['ok', 'ok']);
  });

  it('leaves an unreachable keyless search alone for a while', async () => {
    let [asked, now] = [0, 0];
    const client = {
      search: async () => {
        asked += 1;
        throw new SearchError('search_unreachable', 'DuckDuckGo cannot be reached.');
      },
    };
    const aggregator = new SearchAggregator({
      sources: [{ definition: keyless as SourceDefinition, client }],
      restMs: 1000,
      now: () => now,
    });
    for (const time of [0, 500, 1500]) {
      now = time;
      expect((await aggregator.search(query, ['web'], signal)).troubles).toEqual([
        'DuckDuckGo cannot be reached.',
      ]);
    }
    expect(asked).toBe(2);
  });
});

describe('pages read before', () => {
  const database = openDatabase(':memory:', { migrations });
  const documents = new DocumentStore(database);
  const client = pages.create({}, { ...deps(5000), documents }) as SourceClient;
  const stored: Record<string, [title: string, text: string]> = {
    '/api/offline/factbook/pe': ['Peru, World Factbook', 'Capital of Peru: Lima.'],
    'https://berlin.example/': ['Berlin', 'Berlin is the capital and largest city of Germany.'],
    'https://lima.example/': ['Lima', 'The capital of Perú lies on its coast, and is its largest city.'],
    'https://tides.example/': ['Tidal power', 'Tidal power stations cost more than wind farms.'],
    'https://words.example/': ['Serendipity', 'Horace Walpole coined the word in 1754.'],
  };
  beforeAll(async () => {
    const common = { owner: 'anonymous', kind: 'page', type: 'text/html', bytes: 1 } as const;
    for (const [url, [title, text]] of Object.entries(stored))
      await documents.add({ ...common, url, title, text });
  });
  afterAll(() => database.close());

  it.each([
    ['What is the capital of Peru?', ['lima']],
    ['What is the largest capital city in Peru', ['lima']],
    ['capital of peru', ['lima']],
    ['What is the capital of France?', []],
    ['Which is the capital of Germany? Tell me.', ['berlin']],
    ['What does serendipity mean?', ['words']],
    ['cost of tidal power stations, overview and statistics', ['tides']],
    ['Where is the largest oil field?', []],
  ])('are those that bear on the question: %s', async (text, hosts) => {
    const found = await client.search({ text, limit: 3 }, signal);
    expect(found.map(({ url }) => url)).toEqual(hosts.map((host) => `https://${host}.example/`));
  });
});

describe('the catalogue of sources', () => {
  const configured = (options: Record<string, unknown>) =>
    createSources(sourceDefinitions, options, deps(5000)).map(({ definition }) => definition.name);

  it('has fallbacks only where their kind has no other source', () => {
    expect(configured({ keylessSearch: true })).toEqual(['keyless', 'pages', 'files', 'factbook', 'wordnet']);
    expect(configured({ keylessSearch: false })).toEqual(['pages', 'files', 'factbook', 'wordnet']);
    expect(configured({ keylessSearch: true, searxngUrl: 'http://127.0.0.1:9' })).toEqual([
      'searxng',
      'files',
      'factbook',
      'wordnet',
    ]);
  });

  it('names what is not configured', () => {
    const sources = createSources(sourceDefinitions, { encyclopediaUrl: 'http://127.0.0.1:9' }, deps(5000));
    expect(missingSources(sourceDefinitions, sources).map(({ variable }) => variable)).toEqual([
      'SEARXNG_URL',
    ]);
    const keyed = createSources(sourceDefinitions, { braveApiKey: 'k' }, deps(5000));
    expect(missingSources(sourceDefinitions, keyed).map(({ variable }) => variable)).toEqual([
      'ENCYCLOPEDIA_URL',
    ]);
  });

  it.each([{}, { TOY_SHELF: 'A wooden bear' }])(
    'takes a new source by its file alone, with %j',
    async (env) => {
      const home = temporaryDirectory();
      const service = await startResearch(home.path, env, [], undefined, [toy as SourceDefinition]);
      try {
        const health = (await (await fetch(`${service.url}/healthz`)).json()) as {
          sources: { name: string; title: string }[];
          missing: { variable: string }[];
        };
        const isSet = 'TOY_SHELF' in env;
        expect(health.sources.find(({ name }) => name === 'toy')?.title).toBe(
          isSet ? 'Toy shelf' : undefined,
        );
        expect(health.missing.some(({ variable }) => variable === 'TOY_SHELF')).toBe(!isSet);
        const messages = [{ role: 'user', content: 'Look up bears in the encyclopedia.' }];
        const answer = await fetch(`${service.url}/api/chat`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ messages }),
        });
        expect((await answer.text()).includes('https://toys.example/1')).toBe(isSet);
      } finally {
        await service.stop();
        home.remove();
      }
    },
  );
});

it('tries a SearXNG or a key before it is saved, and the configured sources, for the setup', async () => {
  const home = temporaryDirectory();
  const keyed = await startKeyedSearch();
  const env = { BRAVE_API_URL: keyed.braveUrl, TAVILY_API_URL: keyed.tavilyUrl };
  const service = await startResearch(home.path, { ENCYCLOPEDIA_URL: plain.encyclopediaUrl, ...env });
  const search = async (body: object) => {
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify({ query: 'tidal power', ...body }) };
    return await (await fetch(`${service.url}/operator/setup/search`, request)).json();
  };
  try {
    const found = await search({ url: plain.searxngUrl });
    expect(found).toMatchObject({ answered: ['SearXNG'], troubles: [] });
    expect(found.results[0]).toMatchObject({
      source: 'searxng',
      url: expect.any(String),
      title: expect.any(String),
    });
    const refused = await search({ url: guarded.searxngUrl });
    expect(refused).toMatchObject({
      results: [],
      answered: [],
      troubles: [expect.stringContaining('SEARXNG_BASIC_AUTH')],
    });
    expect((await search({ url: guarded.searxngUrl, basicAuth: 'reader:secret' })).results).toHaveLength(5);
    expect(await search({ braveApiKey: searchKey })).toMatchObject({
      results: [{ source: 'brave' }, { source: 'brave' }],
      answered: ['Brave Search'],
    });
    expect(await search({ tavilyApiKey: searchKey })).toMatchObject({ answered: ['Tavily'], troubles: [] });
    expect(await search({ tavilyApiKey: 'wrong' })).toEqual({
      results: [],
      answered: [],
      troubles: ['Tavily does not take the key: check TAVILY_API_KEY.'],
    });
    expect(await search({})).toMatchObject({ answered: ['Pages read before', 'Encyclopedia'] });
    expect(await search({ url: 'file:///etc/passwd' })).toMatchObject({ error: expect.any(String) });
  } finally {
    await service.stop();
    await keyed.stop();
    home.remove();
  }
});

describe('offline works', () => {
  it('carry a job of the demo model to a report whose citations hold, and open where they are cited', async () => {
    const home = temporaryDirectory();
    const service = await startResearch(home.path);
    onTestFinished(async () => {
      await service.stop();
      home.remove();
    });
    const client = clientOf(service.url);
    const id = await client.startJob({
      query: 'Compare the population of Japan and Germany',
      sources: ['offline'],
    });
    await client.events(id);
    const job: Record<string, unknown> = await client.json(`/api/research/deep/${id}/status`);
    const citations = job.citations as Record<string, unknown>;
    expect(job).toMatchObject({ status: 'complete', sourceCount: 2, warnings: [] });
    expect(job.report).toMatch(/Population of Japan: 126,919,659 \(July 2015 estimate\)/);
    expect(job.report).toMatch(/Population of Germany: 80,854,408/);
    expect(job.report).toContain('World Factbook (offline, November 2015)');
    expect(Number(citations.total)).toBeGreaterThan(1);
    expect(citations.supported).toBe(citations.total);
    const entry = await fetch(`${service.url}/api/offline/factbook/ja`);
    expect(await entry.text()).toMatch(/^Japan, World Factbook \(offline, November 2015\)\n\n.*of Japan: /);
    // What the report read does not get into the answers to other questions.
    for (const [content, begin] of [
      [suggestions.capital, 'Capital of Peru: Lima'],
      ['Capital of France?', 'Capital of France: Paris'],
      [suggestions.word, 'The noun "serendipity" means: good luck'],
      [suggestions.compare, 'Population of Japan: 126,919,659'],
    ]) {
      const messages = [{ role: 'user', content }];
      const answer = await client.post('/v1/chat/completions', { model: 'research-chat', messages });
      const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
      expect(choices[0]?.message.content.slice(0, 60)).toContain(begin);
    }
    for (const path of ['factbook/zz', 'wordnet/xyzzy', 'wordnet/ing', 'other/ja'])
      expect((await fetch(`${service.url}/api/offline/${path}`)).status).toBe(404);
  });
});
