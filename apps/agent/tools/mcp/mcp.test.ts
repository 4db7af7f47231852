import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { defineTool } from '@trunkline/llm';
import type { TurnEvent } from '@trunkline/loop';
import { createCalculator } from '@trunkline/tools';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startAnswering } from '../answering-server.suite.ts';
import { callTool } from '../call-tool.suite.ts';
import { createMcpHandler } from './mcp-server.ts';
import { type McpSources, openMcpSources } from './mcp-source.ts';

const operator = { kind: 'operator', id: 'operator', via: [] } as const;

const fixture = fileURLToPath(new URL('./fixtures/server.ts', import.meta.url));
const stdio = {
  name: 'box',
  command: process.execPath,
  args: [fixture],
  env: { GIVEN: 'yes' },
  timeout_s: 5,
};
let warnings: object[] = [];
let sources: McpSources | undefined;
const logger = { warn: (fields: object) => void warnings.push(fields) };
const open = async (...servers: Parameters<typeof openMcpSources>[0]) => {
  sources = await openMcpSources(servers, { logger, before: sources });
  return sources;
};
const call = (name: string, input: object = {}, signal?: AbortSignal) =>
  callTool(sources!.tools.find((tool) => tool.name === name)!, input, 's', signal);

beforeEach(() => {
  warnings = [];
});
afterEach(async () => {
  await sources?.close();
  sources = undefined;
});

describe('an MCP server that is a process', () => {
  it('offers its tools under its own name', async () => {
    const { tools, states } = await open(stdio);
    expect(states).toEqual([
      {
        name: 'box',
        state: 'connected',
        tools: ['box_add', 'box_fail', 'box_hang', 'box_die', 'box_variable'],
      },
    ]);
    expect(z.toJSONSchema(tools[0]!.input, { io: 'input' })).toMatchObject({
      properties: { a: { type: 'number' }, b: { description: 'second' } },
      required: ['a', 'b'],
    });
    expect(await call('box_add', { a: 2, b: 3 })).toBe('5');
    await expect(call('box_add', { a: 'x' })).rejects.toThrow(z.ZodError);
    expect(await call('box_fail')).toBe('Error: it broke');
    expect(await call('box_variable', { name: 'GIVEN' })).toBe('yes');
  });

  it('may die in mid-call: the call fails in words and the next one works', async () => {
    await open(stdio);
    expect(await call('box_die')).toMatch(/^Error: the MCP server box gave no answer: /);
    expect(await call('box_add', { a: 1, b: 1 })).toBe('2');
  });

  it('keeps its connection, and a call under way, when other settings change', async () => {
    await open(stdio);
    const hanging = call('box_hang', {}, AbortSignal.timeout(300));
    const { states } = await open(stdio, { name: 'bare' });
    expect(states.map(({ state }) => state)).toEqual(['connected', 'failed']);
    await expect(hanging).rejects.toThrow(/timeout/);
    const cut = call('box_hang');
    await open({ ...stdio, env: {} });
    expect(await cut).toMatch(/^Error: the MCP server box gave no answer: .*closed/i);
    expect(await call('box_variable', { name: 'GIVEN' })).toBe('unset');
  });

  it('may hang: the call ends at its limit, and with the turn', async () => {
    await open({ ...stdio, timeout_s: 0.3 });
    expect(await call('box_hang')).toMatch(/^Error: the MCP server box gave no answer: .*timed out/i);
    const stop = new AbortController();
    const hanging = call('box_hang', {}, stop.signal);
    stop.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
  });

  it('is left out with its reason when it cannot start, the others stay', async () => {
    const { states, tools } = await open({ name: 'gone', command: '/no/such/program' }, stdio, {
      name: 'bare',
    });
    expect(states.map(({ name, state }) => [name, state])).toEqual([
      ['gone', 'failed'],
      ['box', 'connected'],
      ['bare', 'failed'],
    ]);
    expect(states[2]!.reason).toBe('the MCP server bare needs a command or a url.');
    expect(tools.length).toBe(5);
    expect(warnings).toHaveLength(2);
  });
});

describe('the agent as an MCP server', () => {
  const waiting = defineTool({
    name: 'ask_human',
    description: 'asks',
    input: z.object({ question: z.string() }),
    pause: true,
  });
  const endless = defineTool({
    name: 'endless',
    description: 'never ends',
    input: z.object({}),
    execute: () => new Promise<string>(() => undefined),
  });
  const told: TurnEvent[] = [];
  const handle = createMcpHandler({
    name: 'agent',
    version: '1',
    tools: () => [createCalculator(), waiting, endless],
    toolTimeoutMs: () => 200,
    observe: (_sessionId, event) => told.push(event),
  });

  async function serveIt() {
    const server = await startAnswering(async ({ method, path, headers, body }) => {
      const fields = Object.entries(headers).map(
        ([name, value]) => [name, String(value)] as [string, string],
      );
      const answer = await handle(
        new Request(`http://localhost${path}`, { method, headers: fields, ...(body !== '' && { body }) }),
        operator,
      );
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: await answer.text(),
      };
    });
    return { url: `${server.url}/mcp`, stop: server.stop };
  }

  it('lists and runs its tools for a real client', async () => {
    const { url, stop } = await serveIt();
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url)) as Parameters<typeof client.connect>[0],
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['calculator', 'endless']);
    expect(await client.callTool({ name: 'calculator', arguments: { expression: '6 * 7' } })).toMatchObject({
      content: [{ text: '6 * 7 = 42' }],
      isError: false,
    });
    expect(await client.callTool({ name: 'calculator', arguments: { expression: 'x' } })).toMatchObject({
      isError: true,
    });
    expect(await client.callTool({ name: 'calculator', arguments: {} })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'ask_human', arguments: {} })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'endless', arguments: {} })).toMatchObject({
      content: [{ text: 'Error: endless took longer than 0.2 s and was stopped.' }],
      isError: true,
    });
    expect(told.filter(({ type }) => type === 'tool-end')).toMatchObject([
      { name: 'calculator', failed: false },
      { name: 'calculator', failed: true },
      { name: 'calculator', failed: true },
      { name: 'endless', failed: true },
    ]);
    await client.close();
    stop();
  });

  it.each([
    [404, 'Session not found'],
    [400, 'Bad Request: Server not initialized'],
  ])('is asked anew after a restart in which it forgot the connection (%i %s)', async (status, message) => {
    let generation = 1;
    const server = await startAnswering(async ({ method, path, headers, body }) => {
      const known = headers['mcp-session-id'];
      if (known !== undefined && known !== `session-${generation}`)
        return { status, body: { jsonrpc: '2.0', error: { code: -32000, message }, id: null } };
      if (method !== 'POST') return { status: 405 };
      const fields = { accept: String(headers.accept), 'content-type': 'application/json' };
      const answer = await handle(
        new Request(`http://localhost${path}`, { method, headers: fields, body }),
        operator,
      );
      return {
        status: answer.status,
        headers: { ...Object.fromEntries(answer.headers), 'mcp-session-id': `session-${generation}` },
        body: await answer.text(),
      };
    });
    await open({ name: 'peer', url: `${server.url}/mcp` });
    expect(await call('peer_calculator', { expression: '1 + 1' })).toBe('1 + 1 = 2');
    generation = 2;
    const both = [
      call('peer_calculator', { expression: '2 + 2' }),
      call('peer_calculator', { expression: '3 + 3' }),
    ];
    expect(await Promise.all(both)).toEqual(['2 + 2 = 4', '3 + 3 = 6']);
    server.stop();
  });

  it('is itself a source of tools over HTTP', async () => {
    const { url, stop } = await serveIt();
    await open({ name: 'peer', url, headers: { authorization: 'Bearer x' } });
    expect(await call('peer_calculator', { expression: '2 ** 10' })).toBe('2 ** 10 = 1024');
    expect(await call('peer_calculator', { expression: '1 / 0' })).toBe('Error: division by zero');
    stop();
  });
});
