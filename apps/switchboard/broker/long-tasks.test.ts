import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type FakePeer,
  type PeerRequest,
  startFakePeer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { startRemoteAgent } from '../fixtures/remote-agent.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const card = (origin: string) => ({
  protocolVersion: '0.3.0',
  name: 'slow',
  description: 'Takes its time.',
  url: `${origin}/a2a`,
  version: '1',
  preferredTransport: 'JSONRPC',
  capabilities: { streaming: false, pushNotifications: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'dig', name: 'Dig', description: 'Digs.', tags: [] }],
});

describe('a task that goes on in another service', () => {
  let peer: FakePeer;
  let state = 'working';
  let reachable = true;
  const sent = () => peer.requests.filter(({ body }) => body.method === 'message/send');
  const answer = ({ body }: PeerRequest) => {
    if (!reachable) return { status: 503, body: '' };
    const artifacts =
      state === 'completed' ? [{ artifactId: 'a', parts: [{ kind: 'text', text: 'a hole' }] }] : [];
    const task = { kind: 'task', id: 'remote-1', contextId: 'remote-context', status: { state }, artifacts };
    return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: body.id, result: task }) };
  };
  beforeAll(async () => {
    peer = await startFakePeer({ card, answer });
  });
  afterAll(() => peer.stop());
  beforeEach(() => {
    [state, reachable] = ['working', true];
    peer.requests.length = 0;
  });

  const begin = (home: string, env: Record<string, string>) =>
    startSwitchboard({
      home,
      env: { SWITCHBOARD_PUBLIC_URL: 'https://board.example', ...env },
      files: { 'agents.d/slow.yaml': `name: slow\nurl: ${peer.url}\nstreaming: false\n` },
    });
  const ask = async (board: TestSwitchboard, correlationId: string) => {
    await waitFor(async () =>
      (await board.call('/api/agents')).body.data.some(({ skills }: Json) => skills[0]?.name === 'dig'),
    );
    const payload = { skillHint: 'dig', content: 'dig' };
    const reply = { topic: 'message.outbound.cli' };
    await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId, reply });
    await waitFor(async () => (await traceOf(board, correlationId)).includes('remote-task'));
  };
  const traceOf = async (board: TestSwitchboard, id: string) =>
    (await board.call(`/api/flows/skill-${id}`)).body.data.trace.map(({ event }: Json) => event);

  it('is kept over a restart, asked after, and its answer brought without asking again', async () => {
    const home = temporaryDirectory();
    const first = await begin(home.path, {});
    await ask(first, 'long-1');
    expect((await first.call('/api/flows/skill-long-1')).body.data.status).toBe('active');
    await first.stop();
    const second = await begin(home.path, { SWITCHBOARD_TASK_POLL_MS: '100' });
    const seen = await observe(second);
    await waitFor(() => peer.requests.some(({ body }) => body.method === 'tasks/get'));
    reachable = false;
    await waitFor(() => second.log.some((line) => line.includes('"failures":2')));
    [state, reachable] = ['completed', true];
    const reply = await seen.first('message.outbound.cli', 'long-1');
    expect(reply.payload).toMatchObject({ content: 'a hole', taskState: 'completed', taskId: 'remote-1' });
    await seen.first('autonomous.outcome', 'long-1');
    expect(sent()).toHaveLength(1);
    expect((await second.call('/api/flows/skill-long-1')).body.data.stage).toBe('done');
    seen.close();
    await second.stop();
    home.remove();
  });

  it('is brought at once when the other service calls back with the token of the task, and cancelled with ours', async () => {
    const home = temporaryDirectory();
    const board = await begin(home.path, {});
    const seen = await observe(board);
    await ask(board, 'long-2');
    const { configuration } = (sent()[0] as Json).body.params;
    const { url, token } = configuration.pushNotificationConfig;
    expect(url).toMatch(/^https:\/\/board\.example\/api\/a2a\/callback\/\w+$/);
    state = 'completed';
    // What a notification says is not believed: it makes the switchboard look, on behalf of whoever asked.
    const forged = {
      id: 'remote-1',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'forged' }] }],
    };
    const call = (path: string, given: string) =>
      board.call(path, forged, { 'x-a2a-notification-token': given });
    const { pathname } = new URL(url);
    expect((await call(pathname, 'wrong')).status).toBe(401);
    expect((await call('/api/a2a/callback/none', token)).status).toBe(404);
    expect((await call(pathname, token)).status).toBe(202);
    expect((await seen.first('agent.skill.response.long-2')).payload.content).toBe('a hole');
    await waitFor(async () => (await call(pathname, token)).status === 404);
    state = 'working';
    const rpc = async (method: string, params: Json) =>
      (await board.call('/a2a', { jsonrpc: '2.0', id: 1, method, params })).body.result;
    const metadata = { agent: 'slow', skillHint: 'dig' };
    const message = { role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'dig' }], metadata };
    const { id } = await rpc('message/send', { message, configuration: { blocking: false } });
    const flow = async () => (await board.call(`/api/flows/skill-${id}`)).body.data;
    await waitFor(async () => JSON.stringify(await flow()).includes('remote-task'));
    await rpc('tasks/cancel', { id });
    await waitFor(() => peer.requests.some(({ body }) => body.method === 'tasks/cancel'));
    expect(await flow()).toMatchObject({
      status: 'complete',
      errorPreview: expect.stringContaining('Canceled'),
    });
    seen.close();
    await board.stop();
    home.remove();
  });

  it('is given up when its agent stays away', async () => {
    const home = temporaryDirectory();
    const board = await begin(home.path, { SWITCHBOARD_TASK_POLL_MS: '100' });
    const seen = await observe(board);
    await ask(board, 'long-3');
    reachable = false;
    const { payload } = await seen.first('agent.skill.response.long-3');
    expect(payload).toMatchObject({ taskState: 'failed', error: expect.stringContaining('slow') });
    seen.close();
    await board.stop();
    home.remove();
  });
});

it('forwards what an agent of another service tells while it works [S119] [S120] [S030]', async () => {
  const remote = await startRemoteAgent(async function* () {
    yield { type: 'progress', text: 'looking' };
    yield { type: 'tool-start', toolCallId: 't1', name: 'lens', args: { far: true } };
    yield { type: 'tool-end', toolCallId: 't1', name: 'lens', result: 'a ship', failed: false };
    yield { type: 'completed', text: 'one ship' };
  });
  const board = await startSwitchboard({
    files: { 'agents.d/remote.yaml': `name: remote\nurl: ${remote.url}\nstreaming: true\n` },
  });
  const seen = await observe(board);
  const listed = async () => (await board.call('/api/agents')).body.data[0]?.skills ?? [];
  await waitFor(async () => (await listed()).length > 0);
  const payload = { skillHint: 'far', content: 'look', stream: true };
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'far-1' });
  expect((await seen.first('agent.skill.response.far-1')).payload.content).toBe('one ship');
  const frames = (topic: string) =>
    seen.messages.filter((message) => message.topic === `${topic}.far-1`).map((message) => message.payload);
  expect(frames('agent.skill.progress').map(({ text }: Json) => text)).toContain('looking');
  expect(frames('agent.skill.toolframe')).toEqual([
    { type: 'tool-start', toolCallId: 't1', name: 'lens', input: { far: true } },
    { type: 'tool-end', toolCallId: 't1', name: 'lens', result: 'a ship', failed: false },
  ]);
  seen.close();
  await board.stop();
  await remote.stop();
});

it('brings the answer although the task could not be noted while the disk was full', async () => {
  const remote = await startRemoteAgent(async function* () {
    yield { type: 'progress', text: 'looking' };
    yield { type: 'completed', text: 'one ship' };
  });
  const board = await startSwitchboard({
    files: { 'agents.d/remote.yaml': `name: remote\nurl: ${remote.url}\nstreaming: true\n` },
  });
  const seen = await observe(board);
  await waitFor(async () => ((await board.call('/api/agents')).body.data[0]?.skills ?? []).length > 0);
  const tasks = new DatabaseSync(join(board.home, 'switchboard', 'tasks.db'));
  tasks.exec(`CREATE TRIGGER full BEFORE INSERT ON tasks BEGIN SELECT RAISE(FAIL, 'the disk is full'); END`);
  const payload = { skillHint: 'far', content: 'look' };
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'full-1' });
  expect((await seen.first('agent.skill.response.full-1')).payload).toMatchObject({
    content: 'one ship',
    taskState: 'completed',
  });
  expect(board.log.join('')).toContain('it is followed on the line alone');
  tasks.close();
  seen.close();
  await board.stop();
  await remote.stop();
});

it('goes on with the conversation that the agent of another service knows', async () => {
  const heard: string[] = [];
  const remote = await startRemoteAgent(async function* ({ task, text, resume }) {
    heard.push(`${task.contextId} ${text}`);
    if (resume === undefined && text === 'name me')
      yield { type: 'input-required', question: 'Who are you?' };
    else yield { type: 'completed', text: `${resume === undefined ? 'new' : 'resumed'}: ${text}` };
  });
  const board = await startSwitchboard({
    files: { 'agents.d/remote.yaml': `name: remote\nurl: ${remote.url}\nskills: [far]\n` },
  });
  const seen = await observe(board);
  await waitFor(async () => (await board.call('/api/agents')).body.data[0]?.sighting?.reachable);
  const say = async (content: string, correlationId: string, direct = true) => {
    const source = { interface: 'messenger', userId: 'u7' };
    const payload = { content, skillHint: 'far', direct };
    await board.call('/publish', { topic: 'message.inbound.messenger.u7', payload, source, correlationId });
    return (await seen.first(`agent.skill.response.${correlationId}`)).payload;
  };
  expect(await say('hello', 'talk-1')).toMatchObject({ content: 'new: hello' });
  expect(await say('name me', 'talk-2')).toMatchObject({
    taskState: 'input-required',
    content: 'Who are you?',
  });
  expect(await say('Ada', 'talk-3')).toMatchObject({ taskState: 'completed', content: 'resumed: Ada' });
  expect(await say('bye', 'talk-4')).toMatchObject({ content: 'new: bye' });
  expect(new Set(heard.map((line) => line.split(' ')[0])).size).toBe(1);
  expect(await say('stranger', 'talk-5', false)).toMatchObject({ content: 'new: stranger' });
  expect(new Set(heard.map((line) => line.split(' ')[0])).size).toBe(2);
  seen.close();
  await board.stop();
  await remote.stop();
});
