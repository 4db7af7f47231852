import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { InputRequired, type ToolContext } from '@trunkline/llm';
import { startMcpExample, startMcpServer } from '@trunkline/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { McpClients, type McpServerConfig } from '../index.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const signal = new AbortController().signal;

async function open(servers: McpServerConfig[], options: object = {}) {
  const clients = new McpClients({ clientName: 'test', logger: { warn: () => undefined }, ...options });
  cleanups.push(() => clients.close());
  await clients.configure(servers);
  const call = async (name: string, input: object = {}, context: Partial<ToolContext> = {}) => {
    const tool = clients.tools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return await tool.execute(tool.input.parse(input), {
      signal,
      sessionId: 's',
      toolCallId: 'c',
      ...context,
    });
  };
  /** The question that a call asks, as the loop gets it. */
  const questionOf = (...given: Parameters<typeof call>) =>
    call(...given).then(
      (result) => expect.unreachable(`it answered ${result}`),
      (error: unknown) => {
        expect(error).toBeInstanceOf(InputRequired);
        return error as InputRequired;
      },
    );
  return { clients, call, questionOf };
}

/** One server for all tests: each has sessions of its own there. */
let started: ReturnType<typeof startMcpExample> | undefined;
afterAll(async () => (await started)?.kill());

async function example(): Promise<McpServerConfig> {
  started ??= startMcpExample();
  return { name: 'sdk', url: (await started).url };
}

describe('the example server of the official SDK', () => {
  it('offers its resources as one tool, whose results come from outside', async () => {
    const { clients, call } = await open([await example()]);
    const tool = clients.tools.find(({ name }) => name === 'sdk_resources');
    expect(tool).toMatchObject({ external: true, effects: ['reads', 'sends'] });
    expect(await call('sdk_resources')).toContain('https://example.com/greetings/default');
    expect(await call('sdk_resources', { uri: 'https://example.com/greetings/default' })).toBe(
      'Hello, world!',
    );
    expect(await call('sdk_resources', { uri: 'https://example.com/nothing' })).toMatch(
      /^Error: the MCP server sdk/,
    );
  });

  it('lists and fills in its prompts', async () => {
    const { clients } = await open([await example()]);
    const client = clients.get('sdk');
    const prompts = await client?.prompts(signal);
    expect(prompts).toMatchObject([
      {
        name: 'greeting-template',
        title: 'Greeting Template',
        arguments: [{ name: 'name', required: true }],
      },
    ]);
    const prompt = await client?.prompt('greeting-template', { name: 'Ada' }, signal);
    expect(prompt).toEqual({ text: expect.stringContaining('Ada'), files: [] });
  });

  it('asks a person in the middle of a call, and gets the answer', async () => {
    const { call, questionOf } = await open([await example()]);
    const input = { infoType: 'contact' };
    const question = await questionOf('sdk_collect-user-info', input, { mayAsk: true });
    expect(question.message).toMatch(/^The MCP server sdk asks: Please provide your contact information/);
    const { schema } = question;
    expect(schema).toMatchObject({
      title: 'The MCP server sdk asks',
      steps: [{ schema: { properties: { email: { format: 'email' } }, required: ['name', 'email'] } }],
    });
    const answer = (text: string) => ({ answered: { text, schema }, mayAsk: true });
    const again = await questionOf('sdk_collect-user-info', input, answer('{"name":"Ada"}'));
    expect(again.message).toMatch(/^That does not fit/);
    const text = '{"name":"Ada","email":"ada@example.com"}';
    expect(await call('sdk_collect-user-info', input, answer(text))).toContain('"email": "ada@example.com"');
    expect(await call('sdk_collect-user-info', input, answer(text))).toMatch(
      /no longer waits for this answer/,
    );
  });

  it('hears that a person declines, and that nobody can be asked', async () => {
    const { call, questionOf } = await open([await example()]);
    const input = { infoType: 'feedback' };
    const { schema } = await questionOf('sdk_collect-user-info', input, { mayAsk: true });
    const declined = await call('sdk_collect-user-info', input, { answered: { text: 'decline', schema } });
    expect(declined).toContain('User declined');
    expect(await call('sdk_collect-user-info', input)).toContain('cancelled');
  });

  it('has a question cancelled that may belong to the call of somebody else', async () => {
    const { call, questionOf } = await open([await example()]);
    const input = { infoType: 'contact' };
    await questionOf('sdk_collect-user-info', input, { mayAsk: true, sessionId: 'ada' });
    expect(await call('sdk_collect-user-info', input, { mayAsk: true, sessionId: 'bea' })).toContain(
      'cancelled',
    );
  });
});

it('asks a server that breaks the connection of a call again only with tools that may be repeated', async () => {
  let resets = 0;
  const isReset = ({ method, headers }: IncomingMessage) =>
    method === 'POST' && 'mcp-session-id' in headers && resets > 0 && resets-- > 0;
  const server = await startMcpServer({ tools: ['echo', 'add'], isReset });
  cleanups.push(() => server.stop());
  const { call } = await open([
    { name: 'net', url: server.url, trusted: true },
    { name: 'odd', url: server.url },
  ]);
  resets = 1;
  expect(await call('net_echo', { words: 'hi' })).toBe('hi');
  // What an untrusted server says about its tools does not count.
  resets = 1;
  expect(await call('odd_echo', { words: 'hi' })).toMatch(/^Error: the MCP server odd gave no answer: /);
  resets = 1;
  expect(await call('net_add', { a: 1, b: 1 })).toMatch(/^Error: the MCP server net gave no answer: /);
  expect([resets, await call('net_add', { a: 1, b: 1 })]).toEqual([0, '2']);
});

describe('a server that closes idle connections', () => {
  const sums = async ({ url }: { url: string }, transport: 'http' | 'sse', count: number) => {
    const { call } = await open([{ name: 'net', url, transport }]);
    for (let a = 0; a < count; a += 1) expect(await call('net_add', { a, b: 1 })).toBe(String(a + 1));
  };

  it.each(['http', 'sse'] as const)(
    'gets no call over one, also where it closes it just as a request arrives (%s)',
    async (transport) => {
      const used = new WeakSet<Socket>();
      const isReset = ({ socket }: IncomingMessage) => used.has(socket) || !used.add(socket);
      const server = await startMcpServer({ tools: ['add'], transport, isReset });
      cleanups.push(() => server.stop());
      await sums(server, transport, 5);
    },
  );

  it('after a millisecond, and does not say so, gets every call', async () => {
    const server = await startMcpServer({ tools: ['add'], keepAliveMs: 1 });
    cleanups.push(() => server.stop());
    await sums(server, 'http', 20);
  });
});
