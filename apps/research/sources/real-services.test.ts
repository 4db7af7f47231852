import { ExtractionPool } from '@trunkline/documents';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { clientOf } from '../fixtures/lab.ts';
import { startResearch } from '../fixtures/service.ts';
import { mediawiki } from './mediawiki.ts';
import type { SourceClient, SourceDeps } from './source.ts';
import { searxng } from './web.ts';

// Opt in by naming services that run and know something about tidal power; real-services.sh starts and names them.
const { TEST_SEARXNG_URL, TEST_ENCYCLOPEDIA_URL } = process.env;
const { signal } = new AbortController();
const pool = new ExtractionPool({ threads: 1 });
const deps = { timeoutMs: 15_000, pool } as SourceDeps;
const query = { text: 'tidal power', limit: 5 };

describe('real services', () => {
  afterAll(() => pool.stop());

  it.skipIf(TEST_SEARXNG_URL === undefined)('SearXNG answers a search', async () => {
    const source = searxng.create(
      { searxngUrl: TEST_SEARXNG_URL, searxngBasicAuth: undefined },
      deps,
    ) as SourceClient;
    await source.probe?.(signal);
    const found = await source.search(query, signal);
    expect(found.length).toBeGreaterThan(0);
    for (const result of found)
      expect(result).toMatchObject({
        title: expect.stringMatching(/tid/i),
        url: expect.stringMatching(/^http/),
        snippet: expect.any(String),
        engines: [expect.any(String)],
      });
  });

  it.skipIf(TEST_ENCYCLOPEDIA_URL === undefined)(
    'MediaWiki finds an article and gives its text',
    async () => {
      const source = mediawiki.create({ encyclopediaUrl: TEST_ENCYCLOPEDIA_URL }, deps) as SourceClient;
      await source.probe?.(signal);
      const found = await source.search(query, signal);
      const article = found.find(({ title }) => title === 'Tidal power');
      expect(article?.snippet).toContain('idal');
      const read = await source.read?.(article!, signal);
      expect(read?.text).toContain('La Rance was opened in 1966');
      expect(read?.text).not.toContain("'''");
      expect(read?.text).toContain('| Sihwa Lake | 254 |');
      expect(read?.text).toContain('Highest tide: 16 metres');
      expect(read?.text).toContain('Barrages are cited by their year.');
      expect(read?.isWhole).toBe(true);
    },
  );

  it.skipIf(TEST_SEARXNG_URL === undefined || TEST_ENCYCLOPEDIA_URL === undefined)(
    'a whole job finds and cites what both of them know',
    async () => {
      const home = temporaryDirectory();
      const service = await startResearch(home.path, {
        SEARXNG_URL: TEST_SEARXNG_URL ?? '',
        ENCYCLOPEDIA_URL: TEST_ENCYCLOPEDIA_URL ?? '',
      });
      try {
        const client = clientOf(service.url);
        const id = await client.startJob({ query: 'tidal power' });
        await client.events(id);
        const snapshot = await client.status(id);
        expect(snapshot.error).toBeUndefined();
        expect(snapshot).toMatchObject({ status: 'complete', warnings: [] });
        const { sources } = (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
          sources: { engine: string; state: string }[];
        };
        const states = sources.map(({ engine, state }) => `${engine} ${state}`);
        expect(states).toContain('searxng read');
        expect(states).toContain('mediawiki read');
      } finally {
        await service.stop();
        home.remove();
      }
    },
  );
});
