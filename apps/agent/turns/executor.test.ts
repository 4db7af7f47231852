import type { ExecutionEvent, ExecutionRequest } from '@trunkline/a2a';
import type { Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { CheckpointStore } from './checkpoint-store.ts';
import { TurnExecutor, type TurnExecutorOptions } from './executor.ts';
import { RunningTurns, type TurnOutcome, type TurnRequest } from './running-turns.ts';
import { openState } from './turn-state.ts';

const principal: Principal = { kind: 'operator', id: 'operator', via: [] };

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
  const message = { parts: [{ type: 'text', text: 'Do it.' }] };
  const request = { task: { id: 't', contextId: 'c' }, message, text: 'Do it.', metadata: {}, principal };
  const events = executor.execute(request as unknown as ExecutionRequest, new AbortController().signal);
  for await (const _ of events);
  expect(turns.map(({ text, principal: { origins: known } }) => [text, known])).toEqual([
    ['Do it.', undefined],
    ['Go on.', origins],
  ]);
});

it('asks after a crash what it had asked before, and takes no earlier answer for it', async () => {
  const home = temporaryDirectory();
  const database = openState(home.path);
  onTestFinished(() => {
    database.close();
    home.remove();
  });
  const { signal } = new AbortController();
  const running = new RunningTurns(database);
  running.begin({ sessionId: 'c', taskId: 't', text: 'yes', principal, joins: false, signal }, null);
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const asked = { type: 'pause', question: 'And delete it?', name: 'ask_human', input: {}, text: '', usage };
  running.end('t', asked as unknown as TurnOutcome);
  const ran: string[] = [];
  const executor = new TurnExecutor({
    running: new RunningTurns(database),
    checkpoints: new CheckpointStore(database),
    runner: {
      async *resume({ text }: TurnRequest) {
        yield ran.push(text);
      },
    },
  } as unknown as TurnExecutorOptions);
  const recover = async () => {
    const events: ExecutionEvent[] = [];
    for await (const event of executor.recover({ id: 't' }, signal)?.events ?? []) events.push(event);
    return events;
  };
  const question = { type: 'input-required', question: 'And delete it?' };
  for (let attempt = 1; attempt <= 3; attempt += 1) expect((await recover()).at(-1)).toEqual(question);
  expect(await recover()).toEqual([]);
  expect(ran).toEqual([]);
});
