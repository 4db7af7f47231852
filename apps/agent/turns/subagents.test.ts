import { createModelGateway } from '@trunkline/llm';
import { startModelServer } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Graph } from './graph.ts';
import { runSubagent, Spending } from './subagents.ts';

it('the turn is told while the model of a helper is at work', async () => {
  const server = await startModelServer({ script: ['a hole'] });
  onTestFinished(() => server.stop());
  const gateway = createModelGateway({ url: server.url, model: 'm', maxRetries: 0 });
  const limits = { steps: 4, toolTimeoutMs: 60_000, turnTimeoutMs: 60_000 };
  const graph = {
    model: (name?: string) => gateway.languageModel(name),
    subagents: [{ name: 'digger', description: 'Digs', instructions: '', steps: 4 }],
    tools: [],
    limits,
  } as unknown as Graph;
  const onActivity = vi.fn();
  const context = { sessionId: 's', signal: new AbortController().signal, onActivity };
  const deps = { graph, spending: new Spending(limits), onEvent: () => undefined };
  expect(await runSubagent('digger', 'dig', context, deps)).toBe('a hole');
  expect(onActivity).toHaveBeenCalled();
});
