import { createSearxng } from '@trunkline/tools';
import { describe, expect, it } from 'vitest';
import { createMediawiki } from './mediawiki.ts';
import { createSearxngSource } from './searxng.ts';

// Opt in by naming services that run, such as Debian's searx (with json among its formats) and mediawiki.
const { TEST_SEARXNG_URL, TEST_ENCYCLOPEDIA_URL } = process.env;
const { signal } = new AbortController();

describe('real services', () => {
  it.skipIf(TEST_SEARXNG_URL === undefined)(
    'SearXNG answers a search, or says in words why not',
    async () => {
      const source = createSearxngSource(createSearxng({ url: TEST_SEARXNG_URL ?? '', timeoutMs: 15_000 }));
      await source.probe?.(signal);
      const answer = await source
        .search({ text: 'tidal power', limit: 5 }, signal)
        .catch((error: Error) => error.message);
      if (typeof answer === 'string') expect(answer).toContain('engines do not respond');
      else
        for (const { title, url } of answer)
          expect([title, url]).toEqual([expect.any(String), expect.stringMatching(/^http/)]);
    },
  );

  it.skipIf(TEST_ENCYCLOPEDIA_URL === undefined)(
    'MediaWiki finds an article and gives its text',
    async () => {
      const source = createMediawiki({ url: TEST_ENCYCLOPEDIA_URL ?? '', timeoutMs: 15_000 });
      await source.probe?.(signal);
      const [first] = await source.search({ text: 'MediaWiki', limit: 3 }, signal);
      expect(first).toBeDefined();
      expect((await source.read?.(first!, signal))?.text.length).toBeGreaterThan(20);
    },
  );
});
