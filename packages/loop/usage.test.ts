import { expect, it } from 'vitest';
import { addUsage, noUsage, promptBudget } from './usage.ts';

const call = {
  models: ['answered', 'configured'],
  reported: undefined,
  input: 'x'.repeat(400),
  output: 'y'.repeat(40),
};

it('estimates where the endpoint reports nothing, so that budgets hold', () => {
  expect(addUsage(noUsage, call, undefined)).toEqual({
    inputTokens: 100,
    outputTokens: 10,
    totalTokens: 110,
    estimated: true,
  });
});

it('takes the price of the configured model when that of the answering one is not known', () => {
  const cost = (model: string) => (model === 'configured' ? 0.1 : undefined);
  expect(addUsage(noUsage, call, cost).costUsd).toBe(0.1);
});

it('does not know the sum when one cost is not known', () => {
  const unknown = addUsage(noUsage, call, () => undefined);
  expect(addUsage(unknown, call, () => 1)).not.toHaveProperty('costUsd');
});

it('leaves the room for an answer that its limit asks for', () => {
  const left = (limit?: number) => promptBudget(20_000, limit);
  expect([left(), left(512), left(8000), left(64_000)]).toEqual([14_904, 18_488, 11_000, 9000]);
});
