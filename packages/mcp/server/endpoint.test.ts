import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type AppEnv, createApp, type Logger, type RunningServer, serve } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { defineTool, type InputRequired, type ToolContext } from '@trunkline/llm';
import { waitFor } from '@trunkline/testing';
import type { Context, Next } from 'hono';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  defineServedTool,
  McpClients,
  type McpToolEvent,
  mountMcpEndpoint,
  type ServedTool,
} from '../index.ts';

const ignore = () => undefined;
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => logger };
const aborted: string[] = [];
const untilAbort = (name: string, signal: AbortSignal) =>
  new Promise<string>((_, reject) => {
    signal.addEventListener('abort', () => {
      aborted.push(name);
      reject(signal.reason);
    });
  });

const add = defineTool({
  name: 'add',
  effects: ['reads'],
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => (b === 0 ? 'Error: nothing to add' : String(a + b)),
});
const whoami = defineServedTool({
  effects: ['writes'],
  name: 'whoami',
  description: 'Names the caller.',
  input: z.object({}),
  execute: async (_input, { principal, scope, sessionId }) => `${principal?.id} ${scope} ${sessionId}`,
});
const slow = defineServedTool({
  effects: ['reads'],
  name: 'slow',
  description: 'Never ends.',
  input: z.object({}),
  timeoutMs: 60_000,
  async execute(_input, { signal, progress }) {
    await progress(1, 'started');
    return await untilAbort('slow', signal);
  },
});
const short = defineServedTool({
  effects: ['reads'],
  name: 'short',
  description: 'Ends at its limit.',
  input: z.object({}),
  execute: (_input, { signal }) => untilAbort('short', signal),
});
const report = defineServedTool({
  effects: ['reads'],
  name: 'report',
  description: 'Gives a report.',
  input: z.object({}),
  async execute(_input, { progress }) {
    await progress(1, 'looking');
    await progress(2, 'writing');
    return { text: 'the report', meta: { reportId: 'r1' } };
  },
});

let server: RunningServer;
let close: () => Promise<void>;
let tools: ServedTool[];
let events: McpToolEvent[];
let isEnabled: boolean;
let clients: Client[];
/** Goes round the endpoint. */
let around: (context: Context<AppEnv>, next: Next) => Promise<void>;

beforeEach(async () => {
  tools = [add as ServedTool, whoami, slow, short, report];
  events = [];
  clients = [];
  isEnabled = true;
  around = (_context, next) => next();
  aborted.length = 0;
  const app = createApp({
    service: 'test',
    version: '1',
    logger,
    renderError: ({ status, message }) => ({ status, body: { message } }) as never,
    health: () => ({ ok: true }) as never,
  });
  app.use('/mcp', async (context, next) => {
    const id = context.req.header('x-who') ?? 'ava';
    context.set('principal', { kind: 'person', id, via: [] } satisfies Principal);
    await around(context, next);
  });
  close = mountMcpEndpoint(app, {
    summary: 'The tools',
    name: 'test',
    version: '1',
    instructions: 'Add with add.',
    tools: () => tools,
    toolTimeoutMs: () => 200,
    scope: () => 'own',
    policy: {
      agent: 'test',
      decide: ({ subject }) => ({
        decision: subject.path === 'secret' ? ('ask' as const) : ('allow' as const),
        rule: '',
        why: '',
      }),
      spend: () => undefined,
    },
    onToolEvent: (event) => events.push(event),
    assertEnabled: () => {
      if (!isEnabled) throw new Error('off');
    },
  });
  server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger });
});
afterEach(async () => {
  for (const client of clients) await client.close();
  await close();
  await server.stop();
});

async function connect(who = 'ava') {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { 'x-who': who } },
  });
  await client.connect(transport as Transport);
  clients.push(client);
  return { client, transport };
}

const post = (body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const callOf = (name: string, input: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
});

it('lists and runs tools for a real client', async () => {
  const { client } = await connect();
  expect(client.getInstructions()).toBe('Add with add.');
  const listed = (await client.listTools()).tools;
  expect(listed.map(({ name }) => name)).toEqual(['add', 'whoami', 'slow', 'short', 'report']);
  expect(listed[0]).toMatchObject({
    inputSchema: { type: 'object', required: ['a', 'b'] },
    annotations: { readOnlyHint: true },
  });
  expect(listed[1]?.annotations).toEqual({});
  const result = async (name: string, input = {}) => await client.callTool({ name, arguments: input });
  expect(await result('add', { a: 1, b: 2 })).toMatchObject({ content: [{ text: '3' }], isError: false });
  expect(await result('add', { a: 1, b: 0 })).toMatchObject({ isError: true });
  expect(await result('add', { a: 'x' })).toMatchObject({
    content: [{ text: expect.stringMatching(/^Error: the arguments do not fit: /) }],
    isError: true,
  });
  expect(await result('nobody')).toMatchObject({ isError: true });
  expect(await result('short')).toMatchObject({
    content: [{ text: 'Error: short took longer than 0.2 s and was stopped.' }],
    isError: true,
  });
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([
    { name: 'add', failed: false, result: '3' },
    { name: 'add', failed: true },
    { name: 'add', failed: true },
    { name: 'short', failed: true },
  ]);
  tools = [];
  expect((await client.listTools()).tools).toEqual([]);
});

it('answers a request that stands for itself as JSON', async () => {
  const response = await post(callOf('add', { a: 40, b: 2 }));
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(await response.json()).toMatchObject({ id: 1, result: { content: [{ text: '42' }] } });
});

it('runs a call as who asks, in a session and without one', async () => {
  const { client } = await connect('bea');
  expect(await client.callTool({ name: 'whoami' })).toMatchObject({ content: [{ text: 'bea own mcp' }] });
  const alone = await post(callOf('whoami'), { 'x-who': 'cleo' });
  expect(await alone.json()).toMatchObject({ result: { content: [{ text: 'cleo own mcp' }] } });
});

it('tells a tool what policy lets it reach on its way', async () => {
  const search = defineServedTool({
    effects: ['reads'],
    name: 'search',
    description: 'Searches.',
    input: z.object({}),
    execute: async (_input, { permits }) =>
      ['open', 'secret'].filter((path) => permits?.({ path })).join(' '),
  });
  tools = [search];
  expect(await (await post(callOf('search'))).json()).toMatchObject({
    result: { content: [{ text: 'open' }] },
  });
});

it('keeps a session to whoever began it', async () => {
  const { transport } = await connect('bea');
  const headers = { 'mcp-session-id': transport.sessionId ?? '' };
  expect((await post(callOf('whoami'), { ...headers, 'x-who': 'bea' })).status).toBe(200);
  expect((await post(callOf('whoami'), { ...headers, 'x-who': 'cleo' })).status).toBe(404);
  expect((await post(callOf('whoami'), { 'mcp-session-id': 'lost' })).status).toBe(404);
});

it('reports progress, and gives what belongs to a result', async () => {
  const { client } = await connect();
  const steps: unknown[] = [];
  const result = await client.callTool({ name: 'report' }, undefined, {
    onprogress: (step) => steps.push(step),
  });
  expect(result).toMatchObject({ content: [{ text: 'the report' }], _meta: { reportId: 'r1' } });
  expect(steps).toEqual([
    { progress: 1, message: 'looking' },
    { progress: 2, message: 'writing' },
  ]);
});

it('ends a call that its client cancels', async () => {
  const { client } = await connect();
  const leaving = new AbortController();
  const call = client.callTool({ name: 'slow' }, undefined, {
    signal: leaving.signal,
    onprogress: () => leaving.abort(),
  });
  await expect(call).rejects.toThrow();
  await waitFor(() => aborted.includes('slow'));
});

it.each(['with', 'without'])('ends a call whose client is gone, %s a session', async (kind) => {
  const headers: Record<string, string> = {};
  if (kind === 'with') headers['mcp-session-id'] = (await connect()).transport.sessionId ?? '';
  const leaving = new AbortController();
  const call = post(callOf('slow'), headers, leaving.signal);
  await waitFor(() => events.length === 1);
  leaving.abort();
  await call.then((response) => response.text()).catch(() => undefined);
  await waitFor(() => aborted.includes('slow'));
});

it('lets a call in a session finish when the service stops', async () => {
  const result = Promise.withResolvers<string>();
  tools = [{ ...slow, execute: () => result.promise }];
  const call = await post(callOf('slow'), await begin());
  await waitFor(() => events.length === 1);
  const stopped = server.stop(60_000);
  result.resolve('done');
  expect(await call.text()).toContain('done');
  await stopped;
});

it('lets a call go on whose client is gone, where the tool says so', async () => {
  const { promise, resolve: finish } = Promise.withResolvers<string>();
  tools = [{ ...slow, survivesDisconnect: true, execute: () => promise }];
  const leaving = new AbortController();
  const call = post(callOf('slow'), {}, leaving.signal);
  await waitFor(() => events.length === 1);
  leaving.abort();
  await expect(call).rejects.toThrow();
  expect((await post(callOf('nobody'))).status).toBe(200);
  finish('done');
  await waitFor(() => events.length === 2);
  expect(events[1]).toMatchObject({ result: 'done', failed: false });
});

it('does not hold on to a client that left before its stream began', async () => {
  const headers = { ...(await begin()), accept: 'text/event-stream' };
  const leaving = new AbortController();
  let checks = 0;
  let check: (() => void) | undefined;
  around = async (context, next) => {
    leaving.abort();
    await waitFor(() => context.env.outgoing.destroyed);
    context.set('stillStands', () => {
      checks += 1;
      return true;
    });
    await next();
    check = () => context.env.streams.endRevoked();
  };
  await expect(fetch(`${server.url}/mcp`, { headers, signal: leaving.signal })).rejects.toThrow();
  const checksNow = () => {
    checks = 0;
    check?.();
    return checks;
  };
  await waitFor(() => check !== undefined && checksNow() === 0);
});

it('can be switched off', async () => {
  isEnabled = false;
  expect((await post(callOf('whoami'))).status).toBe(500);
});

async function begin(who = 'ava') {
  const clientInfo = { name: 'x', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const response = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, { 'x-who': who });
  await response.text();
  return { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '', 'x-who': who };
}

it('drops the session that is idle longest at the limit, never one with a call under way', async () => {
  const { transport } = await connect();
  const busy = { 'mcp-session-id': transport.sessionId ?? '' };
  const leaving = new AbortController();
  const call = post(callOf('slow'), busy, leaving.signal);
  await waitFor(() => events.length === 1);
  const first = await begin();
  for (let count = 0; count < 99; count += 1) await begin(`visitor ${count % 6}`);
  expect((await post(callOf('whoami'), first)).status).toBe(404);
  expect((await post(callOf('whoami'), busy)).status).toBe(200);
  leaving.abort();
  await call.then((response) => response.text()).catch(() => undefined);
});

it('drops sessions of the same owner first', async () => {
  const [others, first] = [await begin('bea'), await begin()];
  for (let count = 0; count < 20; count += 1) await begin();
  expect((await post(callOf('whoami'), first)).status).toBe(404);
  expect((await post(callOf('whoami'), others)).status).toBe(200);
});

it('drops nobody else for sessions that are opened at once', async () => {
  const others = await begin('bea');
  const all = Promise.withResolvers<void>();
  let waiting = 0;
  around = async (_context, next) => {
    waiting += 1;
    await all.promise.then(next);
  };
  const begun = Promise.all(Array.from({ length: 120 }, () => begin()));
  await waitFor(() => waiting === 120);
  all.resolve();
  await begun;
  await begin('cleo');
  expect((await post(callOf('whoami'), others)).status).toBe(200);
});

it('serves our own client', async () => {
  const peers = new McpClients({ clientName: 'test', logger });
  await peers.configure([{ name: 'peer', url: `${server.url}/mcp` }]);
  const tool = peers.tools.find(({ name }) => name === 'peer_add');
  const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c' };
  expect(await tool?.execute({ a: 1, b: 1 }, context)).toBe('2');
  await peers.close();
});

it('lets our own client hear of the progress of a call that goes on after an answer', async () => {
  const heard = Promise.withResolvers<void>();
  const book = defineServedTool({
    effects: ['reads'],
    name: 'book',
    description: 'Asks, then works on.',
    input: z.object({}),
    timeoutMs: 120_000,
    async execute(_input, { ask, progress }) {
      await ask?.({ message: 'Really?', schema: { type: 'object', properties: {} } });
      await progress(1, 'booking');
      await heard.promise;
      return 'booked';
    },
  });
  tools = [book];
  const peers = new McpClients({ clientName: 'test', logger });
  onTestFinished(() => peers.close());
  await peers.configure([{ name: 'peer', url: `${server.url}/mcp` }]);
  const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c', mayAsk: true };
  const call = (more: Partial<ToolContext>) =>
    peers.tools.find(({ name }) => name === 'peer_book')?.execute({}, { ...context, ...more });
  const question = await Promise.resolve(call({ report: ignore })).catch((error: unknown) => error);
  const { schema } = question as InputRequired;
  const reports: string[] = [];
  const booked = call({ answered: { text: 'yes', schema }, report: (text) => void reports.push(text) });
  await waitFor(() => reports.length > 0);
  heard.resolve();
  expect([await booked, reports]).toEqual(['booked', ['booking']]);
});
