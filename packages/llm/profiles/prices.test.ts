import { expect, it } from 'vitest';
import { costOf, priceOf } from './prices.ts';

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

it.each([
  ['gpt-4o', 12.5],
  ['openai/gpt-4o-2024-08-06', 12.5],
  ['gpt-4o-2024-05-13', 20],
  ['anthropic/claude-sonnet-4.5', 18],
  ['claude-opus-4-5-20251101', 30],
])('prices %s', (model, dollars) => {
  expect(costOf(priceOf(model), million)).toBeCloseTo(dollars);
});

it.each(['gpt-6', 'gpt-5.9-mini', 'gpt-4o-audio-preview', 'llama3.2:3b', 'my-gpt-4o'])(
  'does not guess for %s',
  (model) => {
    expect(costOf(priceOf(model), million)).toBeUndefined();
  },
);

it('puts the operator before the list, by name and by pattern', () => {
  const prices = {
    'gpt-4o': { input: 1, output: 1 },
    'llama*': { input: 0, output: 0 },
    'a.c': { input: 3, output: 3 },
  };
  expect(priceOf('gpt-4o', prices)).toEqual({ input: 1, output: 1 });
  expect(costOf(priceOf('llama3.2:3b', prices), million)).toBe(0);
  expect(priceOf('abc', prices)).toBeUndefined();
});

it('charges cached input at its own price', () => {
  const price = { input: 2, output: 8, cachedInput: 0.5 };
  expect(costOf(price, { ...million, cachedInputTokens: 400_000 })).toBeCloseTo(1.2 + 0.2 + 8);
});

it('knows no cost without counts, or beyond the length a price covers', () => {
  expect(costOf({ input: 1, output: 1 }, { inputTokens: undefined, outputTokens: 1 })).toBeUndefined();
  expect(
    costOf({ input: 1, output: 1, upToInputTokens: 10 }, { inputTokens: 11, outputTokens: 1 }),
  ).toBeUndefined();
});
