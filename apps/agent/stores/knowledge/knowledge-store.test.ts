import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Embedder, endpointEmbedder } from './embedder.ts';
import { KnowledgeStore } from './knowledge-store.ts';

let home = temporaryDirectory();
let warnings: string[] = [];
const logger = { warn: (_fields: object, message: string) => void warnings.push(message) };
const open = (more: Partial<ConstructorParameters<typeof KnowledgeStore>[0]> = {}) =>
  new KnowledgeStore({ path: join(home.path, 'knowledge.db'), logger, ...more });
const texts = (chunks: { content: string }[]) => chunks.map(({ content }) => content);

beforeEach(() => {
  home = temporaryDirectory();
  warnings = [];
});
afterEach(() => home.remove());

describe('recall by words', () => {
  it('ranks what holds all words before what holds some', async () => {
    const store = open();
    store.ingest({ domain: 'd', content: 'the boiler' });
    store.ingest({ domain: 'd', content: 'The boiler was serviced in March' });
    store.ingest({ domain: 'd', content: 'March is cold' });
    expect(texts(await store.recall('boiler march', 5))).toEqual([
      'The boiler was serviced in March',
      expect.anything(),
      expect.anything(),
    ]);
    expect(texts(await store.recall('servicing boilers', 1))).toEqual(['The boiler was serviced in March']);
    expect(await store.recall('zebra', 5)).toEqual([]);
    await store.close();
  });

  it.each([
    ['"unclosed', 'quote unclosed'],
    ['AND OR NOT', 'and or not near'],
    ['NEAR(a b)', 'near the lake'],
    ['content: x*', 'content stars'],
    ["Robert'); DROP TABLE chunks;--", 'Robert was here'],
    ['naïve café', 'NAIVE CAFE'],
    ['Москва', 'поездка в Москва летом'],
    ['東京', '私は東京に住んでいます'],
    ['ΑΘΗΝΑ', 'ταξίδι στην Αθηνα'],
    ['القاهرة', 'رحلة إلى القاهرة'],
    ['กรุงเทพ', 'ไปกรุงเทพพรุ่งนี้'],
    ['ｆｕｌｌ', 'full width'],
  ])('finds with the query %s', async (query, content) => {
    const store = open();
    store.ingest({ domain: 'd', content });
    store.ingest({ domain: 'd', content: 'something else entirely 1234' });
    expect(texts(await store.recall(query, 3))).toEqual([content]);
    await store.close();
  });

  it.each(['', '   ', '***', '()', '"', '🙂', '-- ; \u0000'])(
    'takes the query "%s" for no words',
    async (query) => {
      const store = open();
      store.ingest({ domain: 'd', content: 'x' });
      expect(await store.recall(query, 3)).toEqual([]);
      await store.close();
    },
  );

  it('lets a heading count more than the text', async () => {
    const store = open();
    store.ingest({ domain: 'd', heading: 'Other', content: 'garden garden' });
    store.ingest({ domain: 'd', heading: 'Garden', content: 'plants' });
    expect(texts(await store.recall('garden', 2))[0]).toBe('plants');
    await store.close();
  });
});

it("finds somebody's memories, the best first, among very many of another that fit as well", async () => {
  const store = open();
  const [ava, bob] = ['person:voice:ava', 'person:voice:bob'];
  store.ingestAll(Array.from({ length: 500 }, () => ({ content: 'ships', domain: 'd', scope: ava })));
  store.ingest({ content: 'one of the ships lies among many other long words', domain: 'd', scope: bob });
  store.ingest({ content: 'ships in port', domain: 'd', scope: bob });
  expect(store.recallByWords('ships', 5, bob).map(({ content }) => content)).toEqual([
    'ships in port',
    'one of the ships lies among many other long words',
  ]);
  expect(store.bytesOf(bob)).toBeGreaterThan(60);
  expect(store.bytesOf(ava)).toBeGreaterThan(500 * 5);
  expect(store.bytesOf('anonymous')).toBe(0);
  await store.close();
});

describe('the store', () => {
  it('replaces what has the same heading in the same domain [A081]', async () => {
    const store = open();
    const first = store.ingest({ domain: 'd', heading: 'h', content: 'old words' });
    expect(store.ingest({ domain: 'd', heading: 'h', content: 'new words' }).id).toBe(first.id);
    expect(store.ingest({ domain: 'e', heading: 'h', content: 'other' }).id).not.toBe(first.id);
    store.ingest({ domain: 'd', content: 'no heading' });
    store.ingest({ domain: 'd', content: 'no heading' });
    expect(await store.recall('old', 5)).toEqual([]);
    expect(texts(await store.recall('new', 5))).toEqual(['new words']);
    expect(store.stats()).toEqual([
      { domain: 'd', chunks: 3 },
      { domain: 'e', chunks: 1 },
    ]);
    await store.close();
  });

  it('lists the newest first, survives a restart and forgets', async () => {
    let tick = 0;
    const now = () => {
      tick += 1000;
      return new Date(1_700_000_000_000 + tick);
    };
    const store = open({ now });
    store.ingest({ domain: 'a', heading: 'h', content: '1' });
    store.ingest({ domain: 'b', content: '2' });
    store.ingest({ domain: 'a', heading: 'h', content: '3' });
    await store.close();
    const again = open();
    expect(texts(again.list(10))).toEqual(['3', '2']);
    expect(texts(again.list(10, 'b'))).toEqual(['2']);
    expect(again.remove(1)).toBe(true);
    expect(again.remove(1)).toBe(false);
    expect(await again.recall('3', 5)).toEqual([]);
    await again.close();
  });
});

describe('recall by meaning', () => {
  /** Two directions: animals and weather. */
  const meanings = async (given: readonly string[]) =>
    given.map((text) => [/cat|feline|dog/.test(text) ? 1 : 0.01, /rain|storm/.test(text) ? 1 : 0.01]);

  it('finds what shares no word, beside what does', async () => {
    const store = open({ embedder: endpointEmbedder('m', meanings) });
    store.ingest({ domain: 'd', content: 'the cat sleeps' });
    store.ingest({ domain: 'd', content: 'storm tonight' });
    await store.settled();
    expect(texts(await store.recall('feline', 5))).toEqual(['the cat sleeps']);
    expect(texts(await store.recall('feline tonight', 5)).sort()).toEqual([
      'storm tonight',
      'the cat sleeps',
    ]);
    await store.close();
  });

  it('keeps vectors in the file, renews them when a text or the model changes', async () => {
    let asked = 0;
    const counting = async (given: readonly string[]) => {
      asked += given.length;
      return await meanings(given);
    };
    const store = open({ embedder: endpointEmbedder('m', counting) });
    store.ingest({ domain: 'd', heading: 'h', content: 'the cat sleeps' });
    await store.settled();
    store.ingest({ domain: 'd', heading: 'h', content: 'rain' });
    await store.settled();
    expect(texts(await store.recallByMeaning('storm', 5))).toEqual(['rain']);
    expect(await store.recallByMeaning('cat', 5)).toEqual([]);
    await store.close();
    asked = 0;
    const same = open({ embedder: endpointEmbedder('m', counting) });
    await same.settled();
    expect(asked).toBe(0);
    expect(texts(await same.recallByMeaning('storm', 5))).toEqual(['rain']);
    await same.close();
    const other = open({ embedder: endpointEmbedder('m2', counting) });
    await other.settled();
    expect(asked).toBe(2);
    await other.close();
  });

  it('takes another embedder up while it runs, and closes the one before', async () => {
    const closed: string[] = [];
    const named = (model: string, embed: Embedder['embed']): Embedder => ({
      ...endpointEmbedder(model, embed),
      close: async () => void closed.push(model),
    });
    let embedder: Embedder | undefined;
    const store = open({ embedder: () => embedder });
    store.ingest({ domain: 'd', content: 'the cat sleeps' });
    expect(await store.recall('feline', 5)).toEqual([]);
    embedder = named('m', meanings);
    await store.settled();
    expect(texts(await store.recall('feline', 5))).toEqual(['the cat sleeps']);
    // Vectors of another length, which cannot be compared with those stored.
    const longer = async (given: readonly string[]) =>
      (await meanings(given)).map((vector) => [...vector, 0.01]);
    embedder = named('m2', longer);
    await store.settled();
    expect(texts(await store.recall('feline', 5))).toEqual(['the cat sleeps']);
    await store.close();
    expect(closed).toEqual(['m', 'm2']);
  });

  it('uses words alone when the embedder fails', async () => {
    const broken = endpointEmbedder('m', () => Promise.reject(new Error('down')));
    const store = open({ embedder: broken });
    store.ingest({ domain: 'd', content: 'the cat sleeps' });
    await store.settled();
    expect(texts(await store.recall('cat', 5))).toEqual(['the cat sleeps']);
    expect(await store.recall('feline', 5)).toEqual([]);
    expect(warnings).toContain('failed to embed; recall uses keywords only');
    await store.close();
  });
});
