import type { Principal } from '@trunkline/identity';
import { createModelGateway } from '@trunkline/llm';
import { startModelServer } from '@trunkline/testing';
import { convertArrayToReadableStream } from 'ai/test';
import { expect, it, onTestFinished, vi } from 'vitest';
import { answerChat, type ChatDeps, startTurn } from './answer.ts';

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

it('says in the stream when older messages were summarised', async () => {
  const server = await startModelServer({ script: () => 'Tides rise.' });
  onTestFinished(() => server.stop());
  const profiles = () => ({ contextTokens: 2048 });
  const gateway = createModelGateway({ url: server.url, model: 'small', maxRetries: 0, profiles });
  const deps = { gateway, turnTimeoutMs: 60_000 } as unknown as ChatDeps;
  const messages = Array.from({ length: 11 }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${index} ${'and so on '.repeat(80)}`,
  }));
  const principal: Principal = { kind: 'anonymous', id: '', via: [] };
  const lines: string[] = [];
  for await (const line of answerChat({ messages, principal }, deps, new AbortController().signal))
    lines.push(line);
  expect(lines[0]).toBe(
    `2:[{"type":"note","text":"Earlier messages were summarised to fit the model's context"}]\n`,
  );
  expect(lines.at(-1)).toMatch(/^d:.*"stop"/);
});

it('gives the answer unchecked where the check fails, and says so in the log', async () => {
  const server = await startModelServer({ script: ['Tides rise twice a day [1].'] });
  onTestFinished(() => server.stop());
  const logged: string[] = [];
  const deps = {
    gateway: createModelGateway({ url: server.url, model: 'm', maxRetries: 0 }),
    turnTimeoutMs: 60_000,
    // Without settings no check can be made.
    settings: undefined,
    logger: { warn: (_: object, message: string) => logged.push(message) },
  } as unknown as ChatDeps;
  const messages = [{ role: 'user' as const, content: 'Why tides?' }];
  const principal: Principal = { kind: 'anonymous', id: '', via: [] };
  const lines: string[] = [];
  for await (const line of answerChat({ messages, principal }, deps, new AbortController().signal))
    lines.push(line);
  const words = lines.filter((line) => line.startsWith('0:')).map((line) => JSON.parse(line.slice(2)));
  expect(words.join('')).toBe('Tides rise twice a day [1].');
  expect(lines.at(-1)).toMatch(/^d:.*"stop"/);
  expect(logged).toEqual(['failed to check an answer; it is shown unchecked']);
});

it.each([
  ['waits for it where no limit is set', undefined, /^d:.*"stop"/],
  ['gives it up after the limit that is set', 600_000, /^e:.*longer than 600 s/],
])('a model on this machine that begins after 13 minutes: %s', async (_, turnTimeoutMs, last) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { languageModel, ...gateway } = createModelGateway({ url: 'http://127.0.0.1:9/v1', model: 'm' });
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const parts = [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Late.' },
    { type: 'text-end', id: 't' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  ];
  const doStream = async ({ abortSignal }: { abortSignal?: AbortSignal }) => {
    vi.advanceTimersByTime(780_000);
    abortSignal?.throwIfAborted();
    return { stream: convertArrayToReadableStream(parts) };
  };
  // A copy stands at the same place, so that the profile of the endpoint counts.
  const slow = { ...gateway, languageModel: () => ({ ...languageModel(), doStream }) };
  const deps = { gateway: slow, turnTimeoutMs } as unknown as ChatDeps;
  const principal: Principal = { kind: 'anonymous', id: '', via: [] };
  const messages = [{ role: 'user' as const, content: 'Why tides?' }];
  const lines: string[] = [];
  for await (const line of answerChat({ messages, principal }, deps, new AbortController().signal))
    lines.push(line);
  expect(lines.at(-1)).toMatch(last);
});
