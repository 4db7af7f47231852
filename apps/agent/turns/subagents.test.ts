import { createModelGateway } from '@trunkline/llm';
import { startModelServer } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { configSchema } from '../setup/config-schema.ts';
import { compileGraph, type Graph } from './graph.ts';
import { runSubagent, Spending, subagentTools } from './subagents.ts';

it('the turn is told while the model of a helper is at work', async () => {
  const server = await startModelServer({ script: ['a hole'] });
  onTestFinished(() => server.stop());
  const gateway = createModelGateway({ url: server.url, model: 'm', maxRetries: 0 });
  const limits = { steps: 4, toolTimeoutMs: 60_000, turnTimeoutMs: 60_000 };
  const graph = {
    model: (name?: string) => gateway.languageModel(name),
    subagents: [{ name: 'digger', description: 'Digs', instructions: '', steps: 4 }],
    tools: [],
    limits: () => limits,
  } as unknown as Graph;
  const onActivity = vi.fn();
  const context = { sessionId: 's', signal: new AbortController().signal, onActivity };
  const deps = { graph, spending: new Spending(limits), onEvent: () => undefined };
  expect(await runSubagent('digger', 'dig', context, deps)).toBe('a hole');
  expect(onActivity).toHaveBeenCalled();
});

it.each([
  ['as long as the model may take to begin', {}, 1800, 1805],
  ['15 minutes where that is longer', {}, 60, 900],
  ['as configured', { turn_timeout_s: 20 }, 1800, 20],
])('a turn waits for a silent model %s', (_, budget, firstToken, expected) => {
  const gateway = createModelGateway({
    url: 'http://127.0.0.1:9/v1',
    model: 'm',
    firstTokenTimeoutMs: firstToken * 1000,
  });
  const config = configSchema.parse({ budget, subagents: [{ name: 'digger', description: 'Digs' }] });
  const graph = compileGraph({
    agentName: 'core',
    config,
    gateway,
    tools: [],
    approvals: {} as never,
    skills: [],
    policy: {} as never,
  });
  const { turnTimeoutMs } = graph.limits(graph.model());
  const deps = { graph, spending: new Spending(graph.limits(graph.model())), onEvent: () => undefined };
  // The tools that hand work to a helper wait as long as its turn.
  const waits = [turnTimeoutMs, ...subagentTools(deps).map(({ timeoutMs = 0 }) => timeoutMs)];
  expect(waits).toEqual(Array.from({ length: 3 }, () => expected * 1000));
});
