import type { ScriptedReply } from '@trunkline/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TurnEvent } from './options.ts';
import {
  add,
  askHuman,
  collect,
  limits,
  serve,
  spokenIn,
  stopServersAfterEach,
  toolOf,
  turnOptions,
} from './turn.suite.ts';
import { resumeTurn, runTurn } from './turn.ts';

stopServersAfterEach();

const tools = [
  add,
  askHuman,
  toolOf('boom', async () => {
    throw new Error('boom');
  }),
  toolOf('slow', () => new Promise<string>(() => undefined), { timeoutMs: 5 }),
];

const call = fc.oneof(
  fc.constant({ name: 'add', arguments: { left: 1 } }),
  fc.constant({ name: 'add', arguments: { left: 'one' } }),
  fc.constant({ name: 'add', arguments: '{"left": ' }),
  fc.constant({ name: 'boom', arguments: {} }),
  fc.constant({ name: 'slow', arguments: {} }),
  fc.constant({ name: 'missing', arguments: {} }),
  fc.constant({ name: 'ask_human', arguments: { question: 'Well?' } }),
);
const step: fc.Arbitrary<ScriptedReply> = fc.record({
  text: fc.constantFrom('', 'Let me see.'),
  toolCalls: fc.array(call, { minLength: 1, maxLength: 4 }),
});
const ending: fc.Arbitrary<ScriptedReply> = fc.constantFrom<ScriptedReply>(
  'Done.',
  { text: '' },
  { fault: 'status', status: 500 },
  { fault: 'cut', text: 'Half' },
  { fault: 'unfinished', text: 'Half' },
);
const script = fc.tuple(fc.array(step, { maxLength: 5 }), ending).map(([steps, last]) => [...steps, last]);

/** A whole conversation: every question is answered until the turn is over. */
async function runToTheEnd(replies: ScriptedReply[], stepLimit: number): Promise<TurnEvent[][]> {
  const server = await serve(replies);
  const { messages, ...options } = turnOptions(server, { tools, limits: { ...limits, steps: stepLimit } });
  const runs = [await collect(runTurn({ ...options, messages }))];
  for (let last = runs.at(-1)?.at(-1); last?.type === 'pause'; last = runs.at(-1)?.at(-1)) {
    const checkpoint = JSON.parse(JSON.stringify(last.checkpoint));
    runs.push(await collect(resumeTurn({ ...options, checkpoint, answer: 'yes' })));
  }
  await server.stop();
  return runs;
}

function expectOneEnd(events: TurnEvent[]): void {
  const isLast = ({ type }: TurnEvent) => type === 'pause' || type === 'end' || type === 'error';
  expect(events.filter(isLast)).toHaveLength(1);
  expect(isLast(events.at(-1)!)).toBe(true);
}

function expectPairs(events: TurnEvent[]): void {
  const open = new Set<string>();
  for (const event of events) {
    if (event.type === 'tool-start') open.add(event.toolCallId);
    if (event.type === 'tool-end') expect(open.delete(event.toolCallId)).toBe(true);
  }
  expect(open.size).toBe(0);
}

/** Every call in the conversation is followed by its result. */
function expectSoundConversation(last: TurnEvent): void {
  if (last.type !== 'end' && last.type !== 'error') return;
  for (const [index, { role, content }] of last.messages.entries()) {
    const calls =
      role === 'assistant' && Array.isArray(content)
        ? content.filter((part) => part.type === 'tool-call')
        : [];
    if (calls.length === 0) continue;
    const results = last.messages[index + 1]?.content;
    expect(
      Array.isArray(results) ? results.map((part) => 'toolCallId' in part && part.toolCallId) : [],
    ).toEqual(calls.map(({ toolCallId }) => toolCallId));
  }
}

it('whatever the model does, each turn ends once and every tool that starts ends', async () => {
  await fc.assert(
    fc.asyncProperty(script, fc.integer({ min: 1, max: 6 }), async (replies, stepLimit) => {
      for (const events of await runToTheEnd(replies, stepLimit)) {
        expectOneEnd(events);
        expectPairs(events);
        expectSoundConversation(events.at(-1)!);
        expect(events.at(-1)).toHaveProperty('text', spokenIn(events));
      }
    }),
    { numRuns: 60 },
  );
});
