import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mcpProgram, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { startRemoteAgent } from '../fixtures/remote-agent.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const definition = (name: string, more: Json = {}) => ({
  name,
  trust: 'trusted',
  transport: 'stdio',
  command: process.execPath,
  args: [mcpProgram, 'add', 'fail', 'hidden'],
  excludeTools: ['hidden'],
  ...more,
});

/** Programs take their time to start on a busy machine. */
const patience = { timeoutMs: 45_000 };

let board: TestSwitchboard;
let seen: Observer;
beforeAll(async () => {
  board = await startSwitchboard();
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
});

const skillsOf = async (name: string) =>
  (await board.call('/api/agents')).body.data
    .find((agent: Json) => agent.name === name)
    ?.skills.map((skill: Json) => skill.name);

it('registers the tools of a server as skills, live, by the write API [S085] [S132]', async () => {
  const server = definition('sums', { env: { TOKEN: 'secret-value' } });
  expect((await board.call('/api/mcp-servers', server)).status).toBe(201);
  expect(await waitFor(() => skillsOf('sums'), patience)).toEqual(['sums.add', 'sums.fail']);
  expect((await board.call('/api/mcp-servers', server)).status).toBe(409);
  expect((await board.call('/api/mcp-servers', { ...server, name: 'bad', transport: 'pigeon' })).status).toBe(
    400,
  );
  const run = async (skillHint: string, content: string, correlationId: string) => {
    await board.call('/publish', {
      topic: 'agent.skill.request',
      payload: { skillHint, content },
      correlationId,
    });
    return (await seen.first(`agent.skill.response.${correlationId}`)).payload;
  };
  expect(await run('sums.add', '{"a":2,"b":3}', 'm1')).toMatchObject({
    content: '5',
    taskState: 'completed',
  });
  expect(await run('sums.fail', '{}', 'm2')).toMatchObject({ error: 'it broke', taskState: 'failed' });
  expect(await run('sums.hidden', '{}', 'm3')).toMatchObject({ taskState: 'rejected' });
  const { body } = await board.call('/api/mcp-servers/sums');
  expect(body.data).toMatchObject({ enabled: true, env: ['TOKEN'], error: null });
  expect((await board.fetch('/api/mcp-servers/sums', { method: 'DELETE' })).status).toBe(200);
  await waitFor(async () => (await skillsOf('sums')) === undefined);
  expect((await board.call('/api/mcp-servers/sums')).status).toBe(404);
});

it('hands the files of a result on, and names those that a tool cannot take', async () => {
  await board.call('/api/mcp-servers', definition('camera', { args: [mcpProgram, 'media', 'fail'] }));
  await waitFor(() => skillsOf('camera'), patience);
  const plan = { name: 'plan.txt', mimeType: 'text/plain', bytes: Buffer.from('north').toString('base64') };
  const ask = async (skillHint: string) => {
    const parts = [
      { kind: 'text', text: '{}' },
      { kind: 'file', file: plan },
    ];
    const message = { kind: 'message', role: 'user', messageId: skillHint, parts };
    const metadata = { agent: 'camera', skillHint };
    const params = { message: { ...message, metadata } };
    const { body } = await board.call('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params });
    return body.result;
  };
  const taken = await ask('camera.media');
  expect(taken.status.state).toBe('completed');
  const parts = taken.artifacts.flatMap((artifact: Json) => artifact.parts);
  expect(parts).toContainEqual(
    expect.objectContaining({
      kind: 'file',
      file: { name: 'image.png', mimeType: 'image/png', bytes: 'AA==' },
    }),
  );
  const unread = 'camera.media was called without plan.txt: MCP tools take no files.';
  expect(JSON.stringify(parts)).toContain(unread);
  const failed = await ask('camera.fail');
  expect(failed.status.state).toBe('failed');
  expect(JSON.stringify(failed)).toContain('it broke');
  expect(JSON.stringify(failed)).toContain('camera.fail was called without plan.txt');
});

it('leaves what comes from the community off until it is enabled', async () => {
  await board.call('/api/mcp-servers', definition('wild', { trust: 'community' }));
  await waitFor(async () =>
    (await board.call('/api/mcp-servers')).body.data.some(
      (entry: Json) => entry.name === 'wild' && !entry.enabled,
    ),
  );
  expect(await skillsOf('wild')).toBeUndefined();
  const body = JSON.stringify(
    definition('wild', { trust: 'community', enabled: true, allowedTools: ['add'] }),
  );
  await board.fetch('/api/mcp-servers/wild', { method: 'PUT', body });
  expect(await waitFor(() => skillsOf('wild'), patience)).toEqual(['wild.add']);
});

it('tries a server out, and says why one cannot be used', async () => {
  const { body } = await board.call('/api/mcp-servers/test', definition('try'));
  expect(body.data.tools.map(({ name }: Json) => name)).toEqual(['add', 'fail']);
  expect(
    (await board.call('/api/mcp-servers/test', definition('try', { command: 'no-such-program' }))).status,
  ).toBe(502);
  await board.call('/api/mcp-servers', definition('broken', { command: 'no-such-program' }));
  await waitFor(async () => (await board.call('/api/mcp-servers/broken')).body.data?.error);
});

it('tries a server of the workspace and switches it off and on, keeping what its file says', async () => {
  const server = definition('keeps', { env: { TOKEN: 'kept-value' } });
  expect((await board.call('/api/mcp-servers', server)).status).toBe(201);
  await waitFor(() => skillsOf('keeps'), patience);
  const trial = await board.call('/api/mcp-servers/keeps/test', {});
  expect(trial.body.data.tools.map(({ name }: Json) => name)).toContain('add');
  expect((await board.call('/api/mcp-servers/keeps/enabled', { enabled: false })).status).toBe(200);
  await waitFor(async () => (await skillsOf('keeps')) === undefined);
  expect(readFileSync(join(board.workspace, 'mcp-servers.d/keeps.yaml'), 'utf8')).toMatch(
    /TOKEN: "?\$\{secret:mcp-keeps-/,
  );
  expect((await board.call('/api/mcp-servers/keeps/enabled', { enabled: true })).status).toBe(200);
  expect(await waitFor(() => skillsOf('keeps'), patience)).toEqual(['keeps.add', 'keeps.fail']);
  expect((await board.call('/api/mcp-servers/nobody/test', {})).status).toBe(404);
  expect((await board.call('/api/mcp-servers/nobody/enabled', { enabled: true })).status).toBe(404);
});

it('runs no tool with effects for a request that holds text from outside', async () => {
  const far = await startRemoteAgent(async function* () {
    yield { type: 'completed', text: '{"a":2,"b":3}' };
  });
  try {
    await board.call('/api/mcp-servers', definition('held'));
    await waitFor(() => skillsOf('held'), patience);
    board.write(
      'agents.yaml',
      `agents: [{ name: far, url: "${far.url}", skills: [far-work], chain: { far-work: held } }]`,
    );
    await waitFor(() => skillsOf('far'), patience);
    const payload = { skillHint: 'far-work', content: 'what are the numbers?' };
    await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'tainted' });
    const answer = (await seen.first('agent.skill.response.tainted')).payload;
    expect(answer).toMatchObject({ content: '', taskState: 'rejected' });
    expect(answer.error).toContain('held_add was not run, because policy does not allow it here');
    expect(answer.error).toContain('delegate_to far');
  } finally {
    await far.stop();
  }
});
