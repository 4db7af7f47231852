import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createTracing } from '@trunkline/llm';
import type { ScriptedReply } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TurnEvent } from './options.ts';
import {
  add,
  askHuman,
  calling,
  collect,
  play,
  serve,
  stopServersAfterEach,
  turnOptions,
} from './turn.suite.ts';
import { runTurn } from './turn.ts';

stopServersAfterEach();

const received: string[] = [];
let collector: Server;
beforeAll(async () => {
  collector = createServer((request, response) => {
    void text(request).then((body) => {
      received.push(body);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
});
afterAll(() => {
  collector.closeAllConnections();
  collector.close();
});

/** Does the work with tracing on. */
async function traced<Result>(work: () => Promise<Result>): Promise<Result> {
  const { port } = collector.address() as AddressInfo;
  const keys = { publicKey: 'pk-a', secretKey: 'sk-a', traceHost: `http://127.0.0.1:${port}` };
  const tracing = await createTracing(keys);
  try {
    return await work();
  } finally {
    await tracing.stop();
  }
}

const untimed = (events: TurnEvent[]) =>
  events.map((event) => (event.type === 'tool-end' ? { ...event, durationMs: 0 } : event));

const scripts: [string, ScriptedReply[]][] = [
  ['an answer', [{ text: 'Hello there, friend.', usage: { input: 10, output: 4 } }]],
  ['thoughts and an answer', [{ reasoning: 'Let me think.', text: 'Yes.' }]],
  ['a tool between two texts', [{ text: 'One moment.', ...calling(['add', { left: 2 }]) }, 'It is 3.']],
  ['two tools at once', [calling(['add', { left: 1 }], ['add', { left: 2 }]), 'Done.']],
  ['arguments that are no JSON', [calling(['add', '{"left": ']), 'I see.']],
  ['arguments that are no object', [calling(['add', '"text"']), 'I see.']],
  ['a tool that does not exist', [calling(['nope', {}]), 'I see.']],
  ['a question', [calling(['ask_human', { question: 'Which?' }])]],
  ['nothing', [{ text: '' }]],
  ['an answer that is cut short', [{ text: 'Cut', finishReason: 'length' }]],
  ['a refused key', [{ fault: 'status', status: 401 }]],
  ['an error in the middle', [{ fault: 'error-chunk', text: 'Half' }]],
  ['a stream that breaks off', [{ fault: 'cut', text: 'Half' }]],
];

it.each(scripts)('a turn is the same with tracing and without: %s', async (_, script) => {
  const tools = [add, askHuman];
  const plain = await play(script, { tools });
  const spied = await traced(() => play(script, { tools }));
  expect(untimed(spied.events)).toEqual(untimed(plain.events));
  const asked = plain.server.chats();
  expect(spied.server.chats()).toEqual(asked);
});

it('a turn that is stopped in the middle ends the same', async () => {
  const stopped = async () => {
    const server = await serve([{ fault: 'stall', text: 'Half a' }]);
    const stop = new AbortController();
    const events: TurnEvent[] = [];
    for await (const event of runTurn(turnOptions(server, { signal: stop.signal }))) {
      events.push(event);
      if (event.type === 'text-delta') stop.abort();
    }
    return events.at(-1);
  };
  const plain = await stopped();
  expect(plain).toMatchObject({ type: 'error', code: 'aborted' });
  expect(await traced(stopped)).toEqual(plain);
});

it('tells the tracing host of the calls of a session, and only while tracing is on', async () => {
  received.length = 0;
  const server = await serve(() => 'Hi.');
  await collect(runTurn(turnOptions(server, { sessionId: 'unseen' })));
  await traced(() => collect(runTurn(turnOptions(server, { sessionId: 'seen-by-the-host' }))));
  expect(received.join()).toContain('seen-by-the-host');
  expect(received.join()).not.toContain('unseen');
});
