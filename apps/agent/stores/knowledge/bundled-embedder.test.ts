import { expect, it } from 'vitest';
import { bundledEmbedder } from './embedder.ts';

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

it('says that it cannot be loaded', async () => {
  const embedder = bundledEmbedder(new URL('./no-such-worker.ts', import.meta.url));
  await expect(embedder.embed(['x'])).rejects.toThrow();
  await embedder.close();
});
