import type { ExecutionRequest } from '@trunkline/a2a';
import type { Principal } from '@trunkline/identity';
import { expect, it } from 'vitest';
import { TurnExecutor, type TurnExecutorOptions } from './executor.ts';
import type { TurnRequest } from './turn-runner.ts';

it('goes on to a goal with the origins of the turn before', async () => {
  const turns: TurnRequest[] = [];
  const origins = [{ kind: 'fetch_url', source: 'https://outside.example' }];
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const runner = {
    async *run(turn: TurnRequest) {
      turns.push(turn);
      const spending = { helpers: usage };
      yield { type: 'end', text: 'x', finishReason: 'stop', messages: [], usage, spending, origins };
    },
  };
  const executor = new TurnExecutor({
    runner,
    watch: async ({ turns: count }: { turns: number }) => (count === 1 ? { goOnWith: 'Go on.' } : undefined),
    isOperator: () => true,
  } as unknown as TurnExecutorOptions);
  const principal: Principal = { kind: 'operator', id: 'operator', via: [] };
  const message = { parts: [{ type: 'text', text: 'Do it.' }] };
  const request = { task: { id: 't', contextId: 'c' }, message, text: 'Do it.', metadata: {}, principal };
  const events = executor.execute(request as unknown as ExecutionRequest, new AbortController().signal);
  for await (const _ of events);
  expect(turns.map(({ text, principal: { origins: known } }) => [text, known])).toEqual([
    ['Do it.', undefined],
    ['Go on.', origins],
  ]);
});
