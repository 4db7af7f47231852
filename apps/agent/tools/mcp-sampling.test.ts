import { createModelGateway } from '@trunkline/llm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { mcpClientOptions } from './mcp-sampling.ts';

type Deps = Parameters<typeof mcpClientOptions>[0];

it('a server gets an answer of a model that is silent for minutes, as its profile lets it be', async () => {
  const gateway = createModelGateway({});
  const demo = gateway.languageModel();
  const slow: typeof demo = {
    ...demo,
    async doStream(options) {
      vi.advanceTimersByTime(500_000);
      vi.useRealTimers();
      options.abortSignal?.throwIfAborted();
      return await demo.doStream(options);
    },
  };
  const policy = {
    agent: 'agent',
    decide: () => ({ decision: 'allow' as const, rule: 'test', why: 'test' }),
  };
  const { sample } = mcpClientOptions({
    options: { agentName: 'agent' },
    live: {},
    model: { gateway: { ...gateway, languageModel: () => slow } },
    content: { turnFiles: () => ({}) },
    policy: { for: () => policy },
  } as unknown as Deps);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const messages = [{ role: 'user' as const, text: 'Hello', files: [] }];
  const { signal } = new AbortController();
  const answer = await sample?.({ server: 'box', systemPrompt: undefined, messages, maxTokens: 100, signal });
  expect(answer).toMatchObject({ text: expect.stringMatching(/./), stopReason: 'endTurn' });
});
