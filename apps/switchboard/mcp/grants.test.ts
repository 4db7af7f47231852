import { mcpProgram, startMcpServer, startModelServer, waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';
import { isEnabled, isGranted } from './mcp-servers.ts';

const server = (name: string, more: string) =>
  `name: ${name}\ntransport: stdio\ncommand: ${process.execPath}\nargs: [${mcpProgram}, add, fail, hidden, die, grow]\n${more}`;
/** Processes take their time to start on a busy machine. */
const patience = { timeoutMs: 45_000 };
const longTest = 240_000;
const errorOf = async (board: Json, name: string) =>
  (await board.call(`/api/mcp-servers/${name}`)).body.data.error;
const skillNames = async (board: Json) =>
  (await board.call('/api/agents')).body.data.flatMap(({ skills }: Json) =>
    skills.map(({ name }: Json) => name),
  );

it('gives the tools of a server to the agents that it is granted to, and to no other', {
  timeout: longTest,
}, async () => {
  const model = await startModelServer({ script: ({ model: name }) => `${name} heard you` });
  const board = await startSwitchboard({
    env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm', SUM_TOKEN: 'hush' },
    files: {
      'agents/ava.yaml': agent('ava', 'role: general\ntools: [get_incidents]\nskills: [{ name: count }]'),
      'agents/bea.yaml': agent('bea', 'role: general\ntools: [get_incidents]\nskills: [{ name: look }]'),
      'agents/cleo.yaml': agent('cleo', 'role: general\ntools: []\nskills: [{ name: talk }]'),
      'mcp-servers.d/sums.yaml': server(
        'sums',
        `trust: trusted\ngrants: [ava]\nallowedTools: [add]\nenv: { T: "\${SUM_TOKEN}" }`,
      ),
      'mcp-servers.d/base.yaml': server('base', 'trust: builtin\nexcludeTools: [die, hidden, fail, grow]'),
    },
  });
  const seen = await observe(board);
  await waitFor(async () => {
    const names = await skillNames(board);
    return names.includes('sums.add') && names.includes('base.add');
  }, patience);
  const toolsOf = async (skillHint: string, correlationId: string) => {
    await board.call('/publish', {
      topic: 'agent.skill.request',
      payload: { skillHint, content: 'x' },
      correlationId,
    });
    await seen.first(`agent.skill.response.${correlationId}`);
    return (
      model
        .chats()
        .at(-1)
        ?.tools?.map((tool) => tool.function.name) ?? []
    );
  };
  model.enqueue({ toolCalls: [{ name: 'sums_add', arguments: { a: 4, b: 5 } }] }, 'nine');
  expect(await toolsOf('count', 'g1')).toEqual(expect.arrayContaining(['sums_add', 'base_add']));
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('\\n9\\n');
  const other = await toolsOf('look', 'g2');
  expect(other).toContain('base_add');
  expect(other).not.toContain('sums_add');
  expect(await toolsOf('talk', 'g3')).toEqual(['ask_human']);
  seen.close();
  await board.stop();
  await model.stop();
});

it.each([
  [{ trust: 'builtin' }, true, true],
  [{ trust: 'trusted' }, true, false],
  [{ trust: 'trusted', enabled: false }, false, false],
  [{ trust: 'trusted', grants: ['*'] }, true, true],
  [{ trust: 'builtin', grants: ['bea'] }, true, false],
  [{ trust: 'community' }, false, false],
  [{ trust: 'community', enabled: true, grants: ['ava'] }, true, true],
])('treats %j by its tier: enabled %s, granted to ava %s', (given, enabled, granted) => {
  const entry = { name: 's', transport: 'sse', url: 'http://x/', ...given } as never;
  expect([isEnabled(entry), isGranted(entry, 'ava')]).toEqual([enabled, granted]);
});

it('starts a server again when its process dies, and registers the tools that it adds', {
  timeout: longTest,
}, async () => {
  const board = await startSwitchboard({
    files: { 'mcp-servers.d/sums.yaml': server('sums', 'trust: trusted') },
  });
  const seen = await observe(board);
  await waitFor(async () => (await skillNames(board)).includes('sums.die'), patience);
  const run = async (skillHint: string, content: string, correlationId: string) => {
    const payload = { skillHint, content };
    await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
    return (await seen.first(`agent.skill.response.${correlationId}`)).payload;
  };
  expect((await run('sums.die', '{}', 'd1')).taskState).toBe('failed');
  expect(await run('sums.add', '{"a":1,"b":2}', 'd2')).toMatchObject({ content: '3' });
  expect(await errorOf(board, 'sums')).toBeNull();
  await run('sums.grow', '{}', 'd3');
  await waitFor(async () => (await skillNames(board)).includes('sums.echo'), patience);
  seen.close();
  await board.stop();
});

it('shows what a dead server wrote to stderr to the operator alone', { timeout: longTest }, async () => {
  const entry = `name: sums\ntransport: stdio\ncommand: ${process.execPath}\nargs: [${mcpProgram}, broken]\ntrust: trusted`;
  const seen = async (open: string) => {
    const files = { 'mcp-servers.d/sums.yaml': entry };
    const board = await startSwitchboard({ files, env: { TRUNKLINE_OPEN: open } });
    const shown = await waitFor(async () => {
      const { data } = (await board.call('/api/mcp-servers/sums')).body;
      return /closed|the operator sees why/i.test(data.error) && data;
    }, patience);
    await board.stop();
    return JSON.stringify(shown);
  };
  expect(await seen('1')).toContain('fatal: bad token');
  expect(await seen('0')).not.toContain('fatal');
});

it('speaks to a server over server-sent events, and finds it again when it was away', async () => {
  const first = await startMcpServer({ transport: 'sse' });
  const board = await startSwitchboard({
    files: { 'mcp-servers.d/echo.yaml': `name: echo\ntrust: trusted\ntransport: sse\nurl: ${first.url}` },
  });
  const seen = await observe(board);
  await waitFor(async () => (await skillNames(board)).includes('echo.echo'));
  const payload = { skillHint: 'echo.echo', content: '{"words":"hello"}' };
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'e1' });
  expect((await seen.first('agent.skill.response.e1')).payload.content).toBe('hello');
  const trial = await board.call('/api/mcp-servers/test', {
    name: 'try',
    trust: 'trusted',
    transport: 'sse',
    url: first.url,
  });
  expect(trial.body.data.tools).toEqual([{ name: 'echo', description: 'Says it again.' }]);
  await first.stop();
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'e2' });
  expect((await seen.first('agent.skill.response.e2')).payload.taskState).toBe('failed');
  const second = await startMcpServer({ transport: 'sse' });
  board.write('mcp-servers.d/echo.yaml', `name: echo\ntrust: trusted\ntransport: sse\nurl: ${second.url}`);
  await waitFor(async () => {
    const { url, error } = (await board.call('/api/mcp-servers/echo')).body.data;
    return url === second.url && error === null;
  });
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'e3' });
  expect((await seen.first('agent.skill.response.e3')).payload.content).toBe('hello');
  seen.close();
  await board.stop();
  await second.stop();
});

it('speaks streamable HTTP with the headers of its file, which nobody is shown', async () => {
  const server = await startMcpServer({ key: 'sesame' });
  const file = (key: string) =>
    `name: echo\ntrust: trusted\ntransport: http\nurl: ${server.url}\nheaders: { authorization: "Bearer ${key}" }`;
  const board = await startSwitchboard({
    files: { 'mcp-servers.d/echo.yaml': file(`\${ECHO_KEY}`) },
    env: { ECHO_KEY: 'sesame' },
  });
  const seen = await observe(board);
  await waitFor(async () => (await skillNames(board)).includes('echo.echo'));
  const payload = { skillHint: 'echo.echo', content: '{"words":"hello"}' };
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId: 'h1' });
  expect((await seen.first('agent.skill.response.h1')).payload.content).toBe('hello');
  const shown = await board.call('/api/mcp-servers/echo');
  expect(shown.body.data).toMatchObject({ transport: 'http', headers: ['authorization'], error: null });
  expect(JSON.stringify(shown.body)).not.toContain('sesame');
  board.write('mcp-servers.d/echo.yaml', file('wrong'));
  await waitFor(
    async () =>
      (await errorOf(board, 'echo')) ===
      'The server answered 401: set its key under headers in mcp-servers.d/echo.yaml.',
  );
  expect(await skillNames(board)).not.toContain('echo.echo');
  seen.close();
  await board.stop();
  await server.stop();
});
