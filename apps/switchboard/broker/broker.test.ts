import { type FakePeer, startFakePeer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const card = (origin: string) => ({
  protocolVersion: '0.3.0',
  name: 'scout',
  description: 'Looks.',
  url: `${origin}/a2a`,
  version: '1',
  preferredTransport: 'JSONRPC',
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    { id: 'look', name: 'Look', description: 'From the card.', tags: [] },
    { id: 'count', name: 'Count', description: 'Counts.', tags: [] },
  ],
});

let scout: FakePeer;
let clerk: FakePeer;
let plain: FakePeer;
let board: TestSwitchboard;
let seen: Observer;
let answer: Json = { text: 'three ships' };
let number = 0;
/** What stands in place of a stream of `plain`. */
let documentFor: ((id: unknown) => string) | undefined;
const json = { 'content-type': 'application/json' };

beforeAll(async () => {
  scout = await startFakePeer({ card, answer: () => answer });
  clerk = await startFakePeer({ answer: () => ({ text: 'written down' }) });
  plain = await startFakePeer({
    card: (origin) => ({ ...card(origin), skills: [], capabilities: { streaming: true } }),
    answer: ({ body: { id } }) =>
      documentFor === undefined ? { text: 'here' } : { status: 200, headers: json, body: documentFor(id) },
  });
  board = await startSwitchboard({
    env: {
      SCOUT_TOKEN: 'scout-token',
      REMOTE_AGENT_API_KEY: 'clerk-key',
    },
    files: {
      'agents.yaml': `agents:
  - { name: scout, url: "${scout.url}", auth: { scheme: bearer, credentialsEnv: SCOUT_TOKEN }, headers: { x-team: sea }, skills: [{ name: look, description: From the file. }], chain: { count: clerk } }
  - { name: sealed, url: "${clerk.url}", apiKeyEnv: REMOTE_AGENT_API_KEY, skills: [seal], cardKeys: [{ kty: OKP, crv: Ed25519, x: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo }] }
  - { name: gone, url: "http://127.0.0.1:9/a2a", skills: [vanish] }
  - { name: plain, url: "${plain.url}" }`,
      'agents.d/clerk.yaml': `name: clerk\nurl: ${clerk.url}\napiKeyEnv: REMOTE_AGENT_API_KEY\nskills: [write]\nchain: { write: scout }\n`,
    },
  });
  seen = await observe(board);
  await waitFor(async () => (await agentNamed('scout')).skills.length === 2);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await scout.stop();
  await clerk.stop();
  await plain.stop();
});

const agentNamed = async (name: string) =>
  (await board.call('/api/agents')).body.data.find((agent: Json) => agent.name === name);

async function run(skillHint: string, agent?: string) {
  const correlationId = `remote-${++number}`;
  await board.call('/publish', {
    topic: 'agent.skill.request',
    payload: { skillHint, agent, content: 'go' },
    correlationId,
  });
  return (await seen.first(`agent.skill.response.${correlationId}`)).payload;
}

it('calls an external agent like any other, with its credentials [S005] [S026] [S028] [S029] [S100]', async () => {
  expect(await run('look')).toMatchObject({
    content: 'three ships',
    taskState: 'completed',
    taskId: expect.any(String),
  });
  const call = scout.requests.findLast(({ line }) => line.startsWith('POST'));
  expect(call?.headers).toMatchObject({ authorization: 'Bearer scout-token', 'x-team': 'sea' });
  expect(call?.text).toContain('"skillHint":"look"');
});

it('finds skills in the card, and those of the file win [S032]', async () => {
  expect(await agentNamed('scout')).toMatchObject({
    type: 'a2a',
    sighting: { reachable: true },
    skills: [
      { name: 'look', description: 'From the file.' },
      { name: 'count', description: 'Counts.' },
    ],
  });
});

it('asks an agent that lists no skills by its name', async () => {
  await waitFor(async () => (await agentNamed('plain')).skills.length === 1);
  expect(await run('plain')).toMatchObject({ content: 'here', taskState: 'completed' });
});

it('hands on the question of an agent that answers with one document where a stream was asked for', async () => {
  const message = {
    kind: 'message',
    messageId: 'q',
    role: 'agent',
    parts: [{ kind: 'text', text: 'Which sea?' }],
  };
  const result = {
    kind: 'task',
    id: 't',
    contextId: 'c',
    status: { state: 'input-required', message },
    artifacts: [],
  };
  documentFor = (id) => JSON.stringify({ jsonrpc: '2.0', id, result });
  expect(await run('plain')).toMatchObject({ taskState: 'input-required', content: 'Which sea?' });
  const call = plain.requests.findLast(({ line }) => line.startsWith('POST'));
  expect(call?.body.method).toBe('message/stream');
});

it('sends the key of a legacy entry, and chains one level [S027] [S050] [S035] [S154]', async () => {
  expect(await run('count')).toMatchObject({ content: 'written down', chained: true });
  const call = clerk.requests.findLast(({ line }) => line.startsWith('POST'));
  expect(call?.headers['x-api-key']).toBe('clerk-key');
  expect(call?.text).toContain('scout answered:\\nthree ships');
});

it('says in words that an agent is away, fails or says nothing', async () => {
  expect(await run('vanish')).toMatchObject({ taskState: 'failed', error: expect.stringContaining('gone') });
  expect(await agentNamed('gone')).toMatchObject({ sighting: { reachable: false } });
  for (const [given, words] of [
    [{ failure: 'no wind' }, 'no wind'],
    [{ silence: true }, 'without an answer'],
    [{ status: 200, body: '<html>' }, 'scout'],
  ] as const) {
    answer = given;
    expect(await run('look')).toMatchObject({ taskState: 'failed', error: expect.stringContaining(words) });
  }
  answer = { question: 'Which sea?' };
  expect(await run('look')).toMatchObject({ taskState: 'input-required', content: 'Which sea?' });
});

it('gives up an agent that hangs', async () => {
  const peer = await startFakePeer({ answer: () => ({ hang: true }) });
  onTestFinished(() => peer.stop());
  const hasty = await startSwitchboard({
    env: { SWITCHBOARD_SKILL_TIMEOUT_MS: '500' },
    files: { 'agents.yaml': `agents: [{ name: slow, url: "${peer.url}", skills: [look] }]` },
  });
  onTestFinished(() => hasty.stop());
  const answers = await observe(hasty);
  const payload = { skillHint: 'look', content: 'go' };
  await hasty.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'hung' });
  const { payload: answered } = await answers.first('agent.skill.response.hung');
  expect(answered).toMatchObject({ taskState: 'failed', error: expect.stringContaining('0.5 s') });
  answers.close();
});

it('hands the files of an agent that asks back on once', async () => {
  const file = (name: string) => ({
    name,
    mimeType: 'text/plain',
    bytes: Buffer.from(name).toString('base64'),
  });
  answer = { question: 'This one?', files: [file('plan.txt')] };
  const asked = await run('look');
  expect([asked.taskState, asked.files.map(({ name }: Json) => name)]).toEqual([
    'input-required',
    ['plan.txt'],
  ]);
  answer = { text: 'Done.', files: [file('plan.txt'), file('end.txt')] };
  const done = await run('look');
  expect([done.taskState, done.files.map(({ name }: Json) => name)]).toEqual(['completed', ['end.txt']]);
});

it('hands on data, alone or below the text, and files of what the agent says about its state', async () => {
  answer = { data: { ships: 3 } };
  expect(await run('look')).toMatchObject({ taskState: 'completed', content: 'Data: {"ships":3}' });
  answer = { text: 'seen', data: { ships: 3 } };
  expect((await run('look')).content).toBe('seen\nData: {"ships":3}');
  const citations = [{ url: 'https://a.example/sea', title: 'Sea' }, { url: 'https://a.example/sky' }];
  answer = {
    text: 'seen',
    data: { citations },
    mimeType: 'application/vnd.trunkline.citations-v1+json',
  };
  expect((await run('look')).content).toBe(
    'seen\nSources:\n[1] Sea: https://a.example/sea\n[2] https://a.example/sky',
  );
  const shows = (name: string) => [{ name, mimeType: 'text/plain', bytes: 'c2Vh' }];
  answer = { question: 'Is it this one?', shows: shows('sea.txt') };
  expect(await run('look')).toMatchObject({ taskState: 'input-required', files: [{ name: 'sea.txt' }] });
  answer = { failure: 'no wind', shows: shows('log.txt') };
  expect(await run('look')).toMatchObject({ taskState: 'failed', files: [{ name: 'log.txt' }] });
});

it('sends nothing to an agent whose card fails the check of its keys', async () => {
  const posts = () => clerk.requests.filter(({ line }) => line.startsWith('POST')).length;
  const before = posts();
  expect(await run('seal')).toMatchObject({
    taskState: 'failed',
    error: expect.stringContaining('its card is not signed'),
  });
  expect(posts()).toBe(before);
});

it('follows agents.d, and keeps target and skill together [S131]', async () => {
  expect(await run('write', 'scout')).toMatchObject({ taskState: 'rejected' });
  board.write('agents.d/third.yaml', `name: third\nurl: ${clerk.url}\nskills: [sign]\n`);
  await waitFor(() => agentNamed('third'));
  expect((await run('sign')).content).toBe('written down');
});

it('stays off when it is told to [S048]', async () => {
  const other = await startSwitchboard({
    env: { DISABLE_SKILL_BROKER: '1' },
    files: { 'agents.yaml': `agents: [{ name: scout, url: "${scout.url}", skills: [look] }]` },
  });
  expect((await other.call('/api/agents')).body.data).toEqual([]);
  await other.stop();
});

it('fetches files that an agent gives as links from its own address, not from others on its machine', async () => {
  answer = {
    text: 'seen',
    files: [
      { name: 'card.json', mimeType: 'application/json', uri: `${scout.origin}/.well-known/agent-card.json` },
      { name: 'varz.json', mimeType: 'application/json', uri: `${clerk.origin}/varz` },
    ],
  };
  // The first fetch loads its client, which may take longer than a skill may here.
  const { content, files } = await waitFor(async () => {
    const result = await run('look');
    return result.files && result;
  });
  expect(files).toMatchObject([{ name: 'card.json' }]);
  expect(content).toMatch(/seen\n\[varz\.json could not be read: 127\.0\.0\.1 leads to/);
  expect(clerk.requests.some(({ line }) => line === 'GET /varz')).toBe(false);
});

it('hands files on to another agent, and those of its answer back', async () => {
  const plan = Buffer.from('Sail at noon.').toString('base64');
  const map = { name: 'map.png', mimeType: 'image/png', bytes: 'iVBORw0KGgo=' };
  const chart = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
  answer = { text: 'seen', files: [{ name: 'chart.svg', mimeType: 'image/svg+xml', bytes: chart }] };
  const parts = [
    { kind: 'text', text: 'look at this' },
    { kind: 'file', file: { name: 'plan.txt', mimeType: 'text/plain', bytes: plan } },
    { kind: 'file', file: map },
    { kind: 'data', data: { ships: 3 } },
  ];
  const message = { role: 'user', messageId: 'with-files', parts, metadata: { agent: 'scout' } };
  const { body } = await board.call('/a2a', {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message: { kind: 'message', ...message } },
  });
  const sent = scout.requests.findLast(({ text }) => text.includes('look at this'))?.text ?? '';
  expect(JSON.parse(sent).params.message.parts).toMatchObject([
    { kind: 'text', text: expect.stringContaining('"ships":3') },
    { kind: 'file', file: { name: 'plan.txt', mimeType: 'text/plain', bytes: plan } },
    { kind: 'file', file: map },
  ]);
  expect(body.result.status.state).toBe('completed');
  expect(body.result.artifacts.flatMap((artifact: Json) => artifact.parts)).toContainEqual(
    expect.objectContaining({
      kind: 'file',
      file: { name: 'chart.svg', mimeType: 'image/svg+xml', bytes: chart },
    }),
  );
});
