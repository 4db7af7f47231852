import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { readSse } from '@trunkline/http';
import {
  type Child,
  type ModelServer,
  startModelServer,
  type TemporaryHome,
  temporaryHome,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answerText } from './fixtures/start-agent.ts';
import { startAgentProcess } from './fixtures/start-agent-process.ts';

interface Push {
  state: string;
  authorization: string | undefined;
  token: unknown;
  body: string;
}

let home: TemporaryHome;
let model: ModelServer;
let webhook: Server;
let pushes: Push[];
/** Requests to a peer that never answers. */
let unanswered: string[];
const children: Child[] = [];

beforeEach(async () => {
  home = temporaryHome();
  model = await startModelServer();
  pushes = [];
  unanswered = [];
  webhook = createServer((request, response) => {
    if (request.url?.startsWith('/depot')) return void unanswered.push(request.url);
    void receive(request).then(() => response.end());
  });
  await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  webhook.closeAllConnections();
  webhook.close();
  await model.stop();
  home.remove();
});

async function receive(request: IncomingMessage): Promise<void> {
  const body = await text(request);
  const { authorization, 'x-a2a-notification-token': token } = request.headers;
  pushes.push({ state: JSON.parse(body).status?.state ?? '', authorization, token, body });
}

const startProcess = (environment = {}) =>
  startAgentProcess(home, model, children, {
    PUSH_NOTIFICATION_ALLOWED_CIDRS: '127.0.0.0/8',
    ...environment,
  });

it('a conversation outlives kill -9: tool, question, webhook, restart, answer, done [A002] [A025] [A026] [A107] [A152] [A155]', async () => {
  const first = await startProcess();
  model.enqueue(
    { toolCalls: [{ name: 'calculator', arguments: { expression: '19*3' } }] },
    { toolCalls: [{ name: 'ask_human', arguments: { question: 'Order 57 tiles?' } }] },
  );
  const { port } = webhook.address() as AddressInfo;
  const configuration = {
    pushNotificationConfig: { url: `http://127.0.0.1:${port}/hook`, token: 'hook-token' },
  };
  const parked = await first.send('How many tiles? Then order them.', {}, { configuration });
  expect([parked.status.state, answerText(parked)]).toEqual(['input-required', 'Order 57 tiles?']);
  await expect.poll(() => pushes.map(({ state }) => state)).toContain('input-required');
  expect(pushes[0]).toMatchObject({
    state: 'working',
    authorization: 'Bearer hook-token',
    token: 'hook-token',
  });

  await first.child.kill('SIGKILL');
  const second = await startProcess();
  const found = await second.rpc('tasks/get', { id: parked.id });
  expect(found.result.status.state).toBe('input-required');

  model.enqueue('Ordered.');
  const done = await second.send('yes', { taskId: parked.id, contextId: parked.contextId });
  expect([done.id, done.status.state]).toEqual([parked.id, 'completed']);
  expect(answerText(done)).toContain('Ordered.');
  const lastRequest = model.chats().at(-1)?.messages ?? [];
  expect(lastRequest.at(-1)).toMatchObject({ role: 'tool', content: 'yes' });
  expect(lastRequest.some(({ content }) => content === '19*3 = 57')).toBe(true);
  await expect.poll(() => pushes.at(-1)?.state).toBe('completed');
  expect(pushes.at(-1)?.body).toContain('Ordered.');
  expect((await second.rpc('tasks/get', { id: parked.id })).result.status.state).toBe('completed');
});

it('a task that was working when the process died has failed, and its context goes on [A111] [A132]', async () => {
  const first = await startProcess();
  model.enqueue('Hello Ada.');
  const { contextId } = await first.send('I am Ada.');
  model.enqueue({ fault: 'stall', text: 'Thinking' });
  const stream = await fetch(`${first.url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/stream',
      params: { message: { role: 'user', contextId, parts: [{ kind: 'text', text: 'Think.' }] } },
    }),
  });
  let id = '';
  for await (const { data } of readSse(stream.body as ReadableStream<Uint8Array>)) {
    const { result } = JSON.parse(data);
    if (result.kind === 'task') id = result.id;
    if (result.kind === 'artifact-update') break;
  }
  await first.child.kill('SIGKILL');
  model.release();

  const second = await startProcess();
  const { result } = await second.rpc('tasks/get', { id });
  expect([result.status.state, answerText(result)]).toEqual(['failed', 'interrupted by server restart']);
  model.enqueue('You are Ada.');
  expect(answerText(await second.send('Who am I?', { contextId }))).toBe('You are Ada.');
  expect(
    model
      .chats()
      .at(-1)
      ?.messages.map(({ content }) => content),
  ).toContain('I am Ada.');
});

it('goes on at its last step after kill -9 in a tool call: nothing is done or paid twice, and a person is asked', async () => {
  const { port } = webhook.address() as AddressInfo;
  const resuming = { CORE_INTERRUPTED_TASKS: 'resume', PEER_DEPOT_URL: `http://127.0.0.1:${port}/depot` };
  const first = await startProcess(resuming);
  model.enqueue(
    {
      text: 'I note it.',
      toolCalls: [{ name: 'notes_write', arguments: { tab: 'list', content: 'eggs', create: true } }],
    },
    { toolCalls: [{ name: 'peer_consult', arguments: { name: 'depot', message: 'Send eggs.' } }] },
  );
  const configuration = { blocking: false };
  const { id, contextId } = await first.send('Order eggs.', {}, { configuration });
  await waitFor(() => unanswered.length === 1, { timeoutMs: 60_000 });
  await first.child.kill('SIGKILL');

  const second = await startProcess(resuming);
  const stateOf = async () => (await second.rpc('tasks/get', { id })).result.status.state;
  await waitFor(async () => (await stateOf()) !== 'working', { timeoutMs: 60_000 });
  const asking = (await second.rpc('tasks/get', { id })).result;
  expect([asking.status.state, answerText(asking)]).toEqual([
    'input-required',
    expect.stringContaining('peer_consult had begun when the service ended'),
  ]);
  expect([model.chats().length, unanswered.length]).toEqual([2, 1]);

  model.enqueue(
    { toolCalls: [{ name: 'notes_read', arguments: { tab: 'list' } }] },
    'I have not asked again.',
  );
  const done = await second.send('no', { taskId: id, contextId });
  expect([done.status.state, answerText(done)]).toEqual(['completed', 'I have not asked again.']);
  const results = model
    .chats()
    .at(-1)
    ?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
  expect(results).toHaveLength(3);
  expect(String(results?.[2]).match(/eggs/g)).toHaveLength(1);
  expect([model.chats().length, unanswered.length]).toEqual([4, 1]);
});
