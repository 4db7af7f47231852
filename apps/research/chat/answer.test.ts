import type { Principal } from '@trunkline/identity';
import { createModelGateway } from '@trunkline/llm';
import { startModelServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { type ChatDeps, startTurn } from './answer.ts';

it('books what a turn costs for whoever asked', async () => {
  const server = await startModelServer({ script: ['Tides rise.'] });
  onTestFinished(() => server.stop());
  const paid: [string, number][] = [];
  const deps = {
    gateway: createModelGateway({ url: server.url, model: 'gpt-4o', maxRetries: 0 }),
    turnTimeoutMs: 60_000,
    policy: {
      agent: 'research',
      decide: () => ({ decision: 'allow', rule: '', why: '' }),
      pay: ({ id }: Principal, _: string, usd: number) => paid.push([id, usd]),
    },
  } as unknown as ChatDeps;
  const principal: Principal = { kind: 'agent', id: 'key:ci', via: [] };
  const messages = [{ role: 'user' as const, content: 'Why tides?' }];
  const { events } = startTurn({ messages, principal }, deps, new AbortController().signal);
  for await (const _ of events);
  expect(paid).toEqual([['key:ci', expect.any(Number)]]);
  expect(paid[0]?.[1]).toBeGreaterThan(0);
});
