import type { Peers } from '@trunkline/service';
import {
  type McpTestServer,
  startMcpServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { observe } from '../fixtures/observe.ts';
import { type RemoteTestAgent, startRemoteAgent } from '../fixtures/remote-agent.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const key = 'let-me-in';
const portOf = (url: string) => Number(new URL(url).port);

let home: TemporaryDirectory;
let card: RemoteTestAgent;
let tools: McpTestServer;
let board: TestSwitchboard;
const done: string[] = [];

const startCard = (port = 0, skills = ['far']) =>
  startRemoteAgent(
    async function* ({ text }) {
      done.push(text);
      yield { type: 'completed', text: `did ${text}` };
    },
    { port, skills },
  );
const echoFile = () =>
  `name: echo\ntrust: trusted\ntransport: http\nurl: ${tools.url}\nheaders: { Authorization: "Bearer ${key}" }`;
const startBoard = (env: Record<string, string> = {}) =>
  startSwitchboard({
    home: home.path,
    env,
    files: {
      'agents.yaml': `agents: [{ name: scout, url: "${card.url}" }]`,
      'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]'),
      'channels.yaml': 'channels: [{ id: den, platform: chat, channelId: den, agent: scout }]',
      'mcp-servers.d/echo.yaml': echoFile(),
    },
  });

/** A switchboard that has known both, and is started again while both are away. */
beforeEach(async () => {
  done.length = 0;
  home = temporaryDirectory();
  card = await startCard();
  tools = await startMcpServer({ key });
  board = await startBoard();
  await waitFor(async () => {
    const names = await skillNames();
    return names.includes('far') && names.includes('echo.echo');
  });
  await board.stop();
  await Promise.all([card.stop(), tools.stop()]);
});
afterEach(async () => {
  await board.stop();
  await Promise.all([card.stop(), tools.stop()]);
  home.remove();
});

const skillNames = async (): Promise<string[]> =>
  (await board.call('/api/agents')).body.data.flatMap(({ skills }: Json) =>
    skills.map(({ name }: Json) => name),
  );
const publish = async (topic: string, payload: object, correlationId: string) => {
  const { status } = await board.call('/publish', { topic, payload, correlationId });
  expect(status).toBe(200);
};
const ask = (skillHint: string, id: string, content = id) =>
  publish('agent.skill.request', { skillHint, content }, id);
const flow = async (id: string): Promise<Json> => (await board.call(`/api/flows/skill-${id}`)).body.data;
const queued = async (id: string) => (await flow(id))?.trace?.some(({ event }: Json) => event === 'queued');
const letters = async (): Promise<Json[]> => (await board.call('/api/dead-letters')).body.data.letters;
const back = async (skills?: string[]) => {
  card = await startCard(portOf(card.url), skills);
  tools = await startMcpServer({ key, port: tools.port });
};

it('work for an executor that is not there yet waits for it, and only the rest is dropped', async () => {
  board = await startBoard();
  const seen = await observe(board);
  expect(await skillNames()).not.toContain('far');
  await ask('far', 'by-card');
  await ask('echo.echo', 'by-tool', JSON.stringify({ words: 'hello' }));
  await ask('never-known', 'stranger');
  await publish('message.inbound.chat.den', { content: 'to the channel' }, 'by-channel');
  expect((await seen.first('dispatch.dropped.no_skill')).correlationId).toBe('stranger');
  for (const id of ['by-card', 'by-tool', 'by-channel']) await waitFor(() => queued(id));
  const chat = { model: 'scout/far', messages: [{ role: 'user', content: 'now' }] };
  expect(await board.call('/v1/chat/completions', chat)).toMatchObject({
    status: 503,
    body: { error: { message: expect.stringContaining('has not answered since the switchboard started') } },
  });
  await back();
  for (const id of ['by-card', 'by-tool', 'by-channel'])
    await waitFor(async () => (await flow(id)).stage === 'done', { timeoutMs: 60_000 });
  expect(done.toSorted()).toEqual(['by-card', 'to the channel']);
  expect((await seen.first('agent.skill.response.by-tool')).payload.content).toBe('hello');
  expect((await seen.first('message.outbound.chat.den', 'by-channel')).payload.content).toBe(
    'did to the channel',
  );
  expect(seen.messages.filter(({ topic }) => topic.startsWith('dispatch.dropped'))).toHaveLength(1);
  seen.close();
});

it('is dropped with words when the agent comes back without the skill, or is no longer listed', async () => {
  board = await startBoard();
  const seen = await observe(board);
  await ask('far', 'gone-skill');
  await ask('echo.echo', 'gone-server');
  for (const id of ['gone-skill', 'gone-server']) await waitFor(() => queued(id));
  board.write(
    'mcp-servers.d/echo.yaml',
    `${echoFile()}
enabled: false`,
  );
  await waitFor(async () => (await flow('gone-server')).stage === 'error', { timeoutMs: 60_000 });
  await back(['near']);
  for (const id of ['gone-skill', 'gone-server']) {
    await waitFor(async () => (await flow(id)).stage === 'error', { timeoutMs: 60_000 });
    expect((await seen.first('dispatch.dropped.no_skill', id)).payload.why).toContain(
      'no agent has the skill',
    );
    expect((await seen.first(`agent.skill.response.${id}`)).payload.taskState).toBe('rejected');
  }
  seen.close();
});

it('is a dead letter after SWITCHBOARD_EXECUTOR_WAIT_MS, and is done when that is replayed', async () => {
  board = await startBoard({ SWITCHBOARD_EXECUTOR_WAIT_MS: '1000' });
  const seen = await observe(board);
  await publish('message.inbound.cli', { skillHint: 'far', content: 'too early' }, 'late');
  const told = await seen.first('message.outbound.cli', 'late');
  expect(told.payload.content).toMatch(/scout has not answered for 1 s .* dead letters/);
  const letter: Json = await waitFor(async () => (await letters())[0]);
  expect(letter).toMatchObject({ attempts: 1, error: expect.stringContaining('scout has not answered') });
  expect((await flow('late')).status).toBe('blocked');
  // Replayed while the agent is away it comes back to the dead letters.
  expect((await board.call(`/api/dead-letters/${letter.id}/replay`, {})).status).toBe(202);
  const again: Json = await waitFor(async () => (await letters())[0]);
  await back();
  await waitFor(async () => (await skillNames()).includes('far'), { timeoutMs: 60_000 });
  expect((await board.call(`/api/dead-letters/${again.id}/replay`, {})).status).toBe(202);
  await waitFor(async () => (await flow('late')).stage === 'done');
  expect(done).toEqual(['too early']);
  await waitFor(() =>
    seen.messages.some(
      ({ topic, payload }) => topic === 'message.outbound.cli' && payload.content === 'did too early',
    ),
  );
  expect(await letters()).toEqual([]);
  seen.close();
});

it('waits for a service beside the switchboard that starts after it', async () => {
  const listeners: (() => void)[] = [];
  let isThere = true;
  const member = await startCard(0, ['dig']);
  const url = new URL(member.url).origin;
  const peers: Peers = {
    serviceToken: 'between-us',
    agentName: 'agent',
    find: (name) => (isThere && name === 'research' ? { name, url, state: 'live' } : undefined),
    namesWithKey: () => [],
    onChange: (listener) => void listeners.push(listener),
  };
  board = await startSwitchboard({ home: home.path, peers });
  await waitFor(async () => (await skillNames()).includes('dig'));
  await board.stop();
  isThere = false;
  board = await startSwitchboard({ home: home.path, peers });
  await ask('dig', 'early');
  await waitFor(() => queued('early'));
  expect(done).toEqual([]);
  isThere = true;
  for (const listener of listeners) listener();
  await waitFor(async () => (await flow('early')).stage === 'done', { timeoutMs: 60_000 });
  expect(done).toEqual(['early']);
  await member.stop();
});
