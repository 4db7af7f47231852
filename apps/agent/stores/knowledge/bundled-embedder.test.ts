import { join } from 'node:path';
import { openDatabase } from '@trunkline/storage';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { bundledEmbedder } from './embedder.ts';
import { knowledgeMigrations } from './full-text.ts';
import { KnowledgeStore } from './knowledge-store.ts';

const likeness = (one: number[], other: number[]) =>
  one.reduce((sum, value, index) => sum + value * other[index]!, 0) /
  (Math.hypot(...one) * Math.hypot(...other));

it('puts paraphrases closer together than unrelated sentences', async () => {
  const embedder = bundledEmbedder();
  const [one, two, three] = await embedder.embed([
    'The flat is too cold in winter',
    'My apartment gets freezing when it snows',
    'Invoices are paid at the end of the month',
  ]);
  expect(likeness(one!, two!)).toBeGreaterThan(likeness(one!, three!) + 0.2);
  await embedder.close();
});

it('gives memories new vectors that the embeddings of an earlier version left', async () => {
  const home = temporaryDirectory();
  const path = join(home.path, 'knowledge.db');
  const logger = { warn: (_: object, message: string) => expect.unreachable(message) };
  const before = new KnowledgeStore({ path, logger });
  const { id } = before.ingest({ domain: 'd', content: 'Tom is allergic to peanuts and shellfish.' });
  before.ingest({ domain: 'd', content: 'The piano needs to be tuned before the concert.' });
  await before.close();
  const database = openDatabase(path, { migrations: knowledgeMigrations });
  database
    .prepare('INSERT INTO vectors (id, model, vector) VALUES (?, ?, ?)')
    .run(id, 'bundled-en', new Uint8Array(512).fill(7));
  database.close();
  const store = new KnowledgeStore({ path, embedder: bundledEmbedder(), logger });
  await store.settled();
  const found = await store.recallByMeaning('Which food makes him ill?', 1);
  expect(found.map(({ content }) => content)).toEqual(['Tom is allergic to peanuts and shellfish.']);
  await store.close();
  home.remove();
});

it('says that it cannot be loaded', async () => {
  const embedder = bundledEmbedder(new URL('./no-such-worker.ts', import.meta.url));
  await expect(embedder.embed(['x'])).rejects.toThrow();
  await embedder.close();
});
