import { expect, it } from 'vitest';
import { estimateTokens } from './usage.ts';

it('counts four ASCII characters as one token and others as one each', () => {
  expect(estimateTokens('')).toBe(0);
  expect(estimateTokens('abcd'.repeat(10))).toBe(10);
  expect(estimateTokens('abcde')).toBe(2);
  expect(estimateTokens('日本語')).toBe(3);
});

it('counts every part of a conversation', () => {
  expect(estimateTokens([{ role: 'user', content: 'abcd' }])).toBe(5);
  const picture = { type: 'file' as const, mediaType: 'image/png', data: 'A'.repeat(100_000) };
  expect(estimateTokens([{ role: 'user', content: [picture] }])).toBe(1004);
  const call = {
    type: 'tool-call' as const,
    toolCallId: 'a',
    toolName: 'look',
    input: { at: 'x'.repeat(400) },
  };
  expect(estimateTokens([{ role: 'assistant', content: [call] }])).toBeGreaterThan(100);
});
