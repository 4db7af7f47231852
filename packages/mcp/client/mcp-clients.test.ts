import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type AttachedFile, isReadOnly } from '@trunkline/llm';
import { createSandbox } from '@trunkline/sandbox';
import {
  freePort,
  mcpProgram,
  startMcpExample,
  startMcpServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { McpClients, type McpServerConfig, type McpTool, probeMcpServer } from '../index.ts';
import { toTools } from './tools.ts';

let warnings: { server: string; reason: string }[] = [];
const cleanups: (() => unknown)[] = [];
const logger = { warn: (fields: object) => void warnings.push(fields as never) };
/** Programs take their time to start on a busy machine. */
const patience = { timeoutMs: 45_000 };

beforeEach(() => {
  warnings = [];
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const program = (...tools: string[]): McpServerConfig => ({
  name: 'box',
  command: process.execPath,
  args: [mcpProgram, ...tools],
  env: { GIVEN: 'yes', TOKEN: 'hush-hush' },
  timeoutMs: 60_000,
});

type Options = Partial<ConstructorParameters<typeof McpClients>[0]>;

function clientsOf(options: Options = {}) {
  const clients = new McpClients({ clientName: 'test', logger, ...options });
  cleanups.push(() => clients.close());
  const call = async (name: string, input: object = {}, signal = new AbortController().signal) => {
    const tool = clients.tools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return await tool.execute(tool.input.parse(input), { signal, sessionId: 's', toolCallId: 'c' });
  };
  return { clients, call };
}

async function open(servers: McpServerConfig[], options?: Options) {
  const opened = clientsOf(options);
  await opened.clients.configure(servers);
  return opened;
}

async function serve(options: Parameters<typeof startMcpServer>[0]) {
  const server = await startMcpServer(options);
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await server.stop();
    isStopped = true;
  };
  cleanups.push(stop);
  return { ...server, stop };
}

describe('a server that is a program', () => {
  it('is started by the sandbox, and not at all where that has to isolate it and cannot', async () => {
    const isolation = { kind: 'none' as const, reason: 'bubblewrap is not installed' };
    const { clients } = await open([program('echo')], {
      sandbox: createSandbox({ mode: 'auto', isolation }),
    });
    expect(clients.tools).toEqual([]);
    const reason = expect.stringMatching(
      /bubblewrap is not installed.*TRUNKLINE_SANDBOX=off for all, "sandbox: off"/,
    );
    expect(warnings).toMatchObject([{ server: 'box', reason }]);
  });

  it('is not started on Windows either, unless its settings let it run without a sandbox', async () => {
    const none = { kind: 'none' as const, reason: 'bubblewrap runs on Linux only, and this is win32' };
    const container = { kind: 'container' as const, program: 'docker', image: 'debian' };
    const connect = async (
      isolation: typeof none | typeof container,
      sandbox?: McpServerConfig['sandbox'],
      mode: 'auto' | 'require' = 'auto',
    ) => {
      warnings = [];
      const { clients } = await open([{ ...program('echo'), ...(sandbox && { sandbox }) }], {
        platform: 'win32',
        sandbox: createSandbox({ mode, isolation }),
      });
      return [...clients.tools.map(({ name }) => name), ...warnings.map(({ reason }) => reason)];
    };
    expect(await connect(none)).toEqual([
      expect.stringMatching(/was not started: .*this is win32.*sandbox: off/),
    ]);
    expect(await connect(container)).toEqual([
      expect.stringMatching(/as Windows finds them.*"sandbox: off"/),
    ]);
    expect(await connect(none, 'off', 'require')).toEqual([
      expect.stringContaining('TRUNKLINE_SANDBOX=require'),
    ]);
    expect(await connect(none, 'off')).toEqual(['box_echo']);
  });

  it('offers its tools under its own name', async () => {
    const { clients, call } = await open([program('add', 'echo', 'fail', 'variable', 'media')]);
    expect(clients.states).toEqual([
      {
        name: 'box',
        state: 'connected',
        tools: ['box_add', 'box_echo', 'box_fail', 'box_variable', 'box_media'],
      },
    ]);
    expect(z.toJSONSchema(clients.tools[0]!.input, { io: 'input' })).toMatchObject({
      properties: { a: { type: 'number' }, b: { description: 'second' } },
      required: ['a', 'b'],
    });
    expect(clients.tools.filter(isReadOnly)).toEqual([]);
    const trusted = await open([{ ...program('add', 'echo'), trusted: true }]);
    expect(trusted.clients.tools.filter(isReadOnly).map(({ name }) => name)).toEqual(['box_echo']);
    expect(await call('box_add', { a: 2, b: 3 })).toBe('5');
    await expect(call('box_add', { a: 'x' })).rejects.toThrow(z.ZodError);
    expect(await call('box_fail')).toBe('Error: it broke');
    expect(await call('box_media')).toBe(
      '[image image/png]\na note\n(image.png, image/png, was left out: files cannot be handed on here. Say so.)',
    );
  });

  it('has its pictures handed on where files can be', async () => {
    const { clients } = await open([program('media', 'album', 'crash', 'seen')]);
    const files: AttachedFile[] = [];
    const attach = async (file: AttachedFile) => void files.push(file);
    const signal = new AbortController().signal;
    const result = await clients.tools[0]?.execute({}, { signal, sessionId: 's', toolCallId: 'c', attach });
    expect(result).toBe('[image image/png]\na note\n(The person was given image.png.)');
    expect(files).toMatchObject([{ name: 'image.png', mediaType: 'image/png', bytes: Buffer.from([0]) }]);
    const full = () => Promise.reject(new Error('there is no room'));
    const refused = await clients.tools[0]?.execute(
      {},
      { signal, sessionId: 's', toolCallId: 'c', attach: full },
    );
    expect(refused).toContain('(image.png could not be handed on: there is no room)');
    files.length = 0;
    const many = await clients.tools[1]?.execute({}, { signal, sessionId: 's', toolCallId: 'd', attach });
    expect(many).toContain('[2 of 12 files were left out: ');
    expect(files.map(({ mediaType }) => mediaType)).toEqual(Array(10).fill('image/png'));
    files.length = 0;
    const failed = await clients.tools[2]?.execute({}, { signal, sessionId: 's', toolCallId: 'e', attach });
    expect(failed).toBe('Error: the page did not load\n[image image/png]\n(The person was given image.png.)');
    expect(files).toMatchObject([{ name: 'image.png', mediaType: 'image/png' }]);
    const seen = await clients.tools[3]?.execute({}, { signal, sessionId: 's', toolCallId: 'f', attach });
    expect(seen).toBe(
      '[image image/png]\n[resource log: file:///log (text/plain, What was seen)]\n{"ships":3}\n(The person was given image.png.)',
    );
  });

  it('gets of the environment only what it is given', async () => {
    const { call } = await open([program('variable')]);
    expect(await call('box_variable', { name: 'GIVEN' })).toBe('yes');
    expect(await call('box_variable', { name: 'NODE_ENV' })).toBe('unset');
    expect(await call('box_variable', { name: 'VITEST' })).toBe('unset');
  });

  it('lists tools over many pages', async () => {
    const { clients, call } = await open([program('pages=230/50')]);
    expect(clients.tools).toHaveLength(230);
    expect(await call('box_tool-229')).toBe('tool-229');
  });

  it('has no more tools than the limit', async () => {
    const { clients } = await open([program('pages=1500/400')]);
    expect(clients.tools).toHaveLength(1000);
  });

  it('is asked once more after it died in a call only if it says that the tool may be repeated', async () => {
    const place = temporaryDirectory();
    cleanups.push(() => place.remove());
    const [put, post] = [join(place.path, 'put'), join(place.path, 'post')];
    const tools = [`put=${put}`, `post=${post}`];
    const { clients, call } = await open([{ ...program(...tools), trusted: true }]);
    expect(await call('box_put', { words: 'one' })).toBe('stored');
    expect(readFileSync(put, 'utf8')).toBe('one\none\n');
    expect(await call('box_post', { words: 'one' })).toContain('gave no answer');
    expect(readFileSync(post, 'utf8')).toBe('one\n');
    // After a crash of ours the loop repeats it unasked; the claim of a server that nobody trusts does not count there.
    const marked = (from: typeof clients) =>
      from.tools.flatMap(({ name, idempotent }) => (idempotent ? [name] : []));
    await waitFor(() => clients.tools.length === 2, patience);
    expect(marked(clients)).toEqual(['box_put']);
    const untrusted = await open([program(...tools)]);
    expect(marked(untrusted.clients)).toEqual([]);
    rmSync(put);
    expect(await untrusted.call('box_put', { words: 'two' })).toContain('gave no answer');
    expect(readFileSync(put, 'utf8')).toBe('two\n');
  });

  it('may die in a call: its stderr is for the operator, and it is started again', async () => {
    const { clients, call } = await open([program('die', 'add')]);
    const failed = await call('box_die');
    expect(failed).toMatch(/^Error: the MCP server box gave no answer: .*closed/i);
    expect(failed).not.toContain('cheese');
    expect(clients.states[0]).toMatchObject({ state: 'failed', stderr: 'fatal: out of cheese' });
    expect(clients.tools).toHaveLength(2);
    expect(warnings).toMatchObject([{ server: 'box', stderr: 'fatal: out of cheese' }]);
    await waitFor(() => clients.states[0]?.state === 'connected', patience);
    expect(clients.states[0]).not.toHaveProperty('stderr');
    await call('box_die');
    expect(await call('box_add', { a: 1, b: 1 })).toBe('2');
  });

  it('may not start: its stderr is shown without the secrets that it was given', async () => {
    const { clients } = await open([program('broken')]);
    expect(clients.states[0]).toMatchObject({
      state: 'failed',
      tools: [],
      stderr: 'fatal: bad token [redacted]',
    });
    expect(JSON.stringify(warnings)).not.toContain('hush-hush');
    await expect(probeMcpServer(program('broken'), { clientName: 'test' })).rejects.toMatchObject({
      stderr: 'fatal: bad token [redacted]',
    });
  });

  it('has its tools listed again when it says that they changed', async () => {
    let changes = 0;
    const { clients, call } = await open([program('grow')], {
      onChange: (client) => {
        if (client) changes += 1;
      },
    });
    expect(changes).toBe(1);
    await call('box_grow');
    await waitFor(() => clients.tools.length === 2);
    expect(changes).toBe(2);
    expect(await call('box_echo', { words: 'hi' })).toBe('hi');
  });

  it('may say without end that its tools changed: they are listed a few times at once, then now and then', async () => {
    const { clients, call } = await open([program('restless')]);
    const described = () => clients.tools[0]?.description ?? '';
    await call('box_restless');
    await waitFor(() => described() === 'as of 10');
    // Each call takes as long as a listing and more.
    for (let made = 0; made < 200; made += 1) await call('box_restless');
    expect(Number(/\d+/.exec(described())?.[0])).toBeLessThan(100);
  });

  it('may hang: a call ends at its limit and with its caller, and the connection stays', async () => {
    const { clients, call } = await open([{ ...program('hang', 'add'), timeoutMs: 300 }]);
    expect(await call('box_hang')).toMatch(/^Error: the MCP server box gave no answer: .*timed out/i);
    const stop = new AbortController();
    const hanging = call('box_hang', {}, stop.signal);
    stop.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
    await waitFor(async () => (await call('box_add', { a: 1, b: 1 })) === '2');
    expect([clients.states[0]?.state, warnings]).toEqual(['connected', []]);
  });
});

describe('the list of servers', () => {
  it('leaves out with its reason what cannot be used; the others stay', async () => {
    const { clients } = await open([
      { name: 'gone', command: '/no/such/program' },
      program('add'),
      { name: 'bare' },
    ]);
    expect(clients.states).toMatchObject([
      { name: 'gone', state: 'failed', reason: expect.stringContaining('/no/such/program') },
      { name: 'box', state: 'connected' },
      { name: 'bare', state: 'failed', reason: 'the MCP server bare needs a command or a url.' },
    ]);
    expect(clients.tools).toHaveLength(1);
    expect(warnings.map(({ server }) => server).sort()).toEqual(['bare', 'gone']);
  });

  it('keeps a connection, and a call under way, when other settings change', async () => {
    const box = program('hang', 'variable');
    const { clients, call } = await open([box]);
    const before = clients.get('box');
    const hanging = call('box_hang', {}, AbortSignal.timeout(300));
    await clients.configure([{ ...box }, { name: 'bare' }]);
    expect(clients.get('box')).toBe(before);
    await expect(hanging).rejects.toThrow(/timeout/);
    const cut = call('box_hang');
    await clients.configure([{ ...box, env: {} }]);
    expect(await cut).toMatch(/^Error: the MCP server box gave no answer: .*closed/i);
    expect(await call('box_variable', { name: 'GIVEN' })).toBe('unset');
    expect(clients.get('bare')).toBeUndefined();
  });

  it('offers stored tools until the server has answered, and none that the settings exclude', async () => {
    const stored: McpTool[] = ['old', 'hidden'].map((name) => ({ name, description: '', inputSchema: {} }));
    const { clients } = clientsOf({
      storedTools: () => stored,
      isOffered: (_server, tool) => tool !== 'hidden',
    });
    clients.add([program('add', 'hidden')]);
    const client = clients.get('box')!;
    expect([client.tools.map(({ name }) => name), client.isConfirmed]).toEqual([['old'], false]);
    await clients.configure([program('add', 'hidden')]);
    expect(clients.get('box')).toBe(client);
    expect([client.tools.map(({ name }) => name), client.isConfirmed]).toEqual([['add'], true]);
  });

  it('closes at once when a server never answers', async () => {
    const { clients } = clientsOf();
    const opening = clients.configure([{ name: 'mute', command: 'sleep', args: ['1000'] }]);
    await waitFor(() => clients.get('mute')?.isStarted);
    await clients.close();
    await opening;
    expect(warnings).toEqual([]);
  });

  it('has a server tried out and left again', async () => {
    const options = { clientName: 'test', isOffered: (_: unknown, tool: string) => tool !== 'hidden' };
    expect(await probeMcpServer(program('add', 'hidden'), options)).toMatchObject([{ name: 'add' }]);
    await expect(probeMcpServer({ name: 'gone', command: 'no-such-program' }, options)).rejects.toThrow(
      'Cannot start no-such-program: there is no such program. Check the configuration of gone.',
    );
  });
});

describe.each(['http', 'sse'] as const)('a server over %s', (transport) => {
  it('gets the headers with every request', async () => {
    const server = await serve({ transport, key: 'sesame' });
    const headers = { authorization: 'Bearer sesame', 'x-tenant': 'blue' };
    const { call } = await open([{ name: 'net', transport, url: server.url, headers }]);
    expect(await call('net_echo', { words: 'hi' })).toBe('hi');
    expect(server.requests.length).toBeGreaterThan(2);
    expect(new Set(server.requests.map((request) => request['x-tenant']))).toEqual(new Set(['blue']));
  });

  it('is named with what to do when it refuses the key', async () => {
    const server = await serve({ transport, key: 'sesame' });
    const config = {
      name: 'net',
      transport,
      url: server.url,
      headers: { authorization: 'Bearer wrong-key' },
    };
    const { clients } = await open([config], { configuredIn: () => 'net.yaml' });
    expect(clients.states[0]?.reason).toBe('The server answered 401: set its key under headers in net.yaml.');
    expect(JSON.stringify(warnings)).not.toContain('wrong-key');
  });

  it('may be down at the start and come up later', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`;
    const { clients, call } = await open([{ name: 'late', transport, url }]);
    expect(clients.states[0]?.state).toBe('failed');
    await serve({ transport, port });
    await waitFor(() => clients.states[0]?.state === 'connected', patience);
    expect(await call('late_echo', { words: 'here' })).toBe('here');
  });

  it('may go away and come back with other tools, noticed without a call', async () => {
    const first = await serve({ transport });
    const { clients, call } = await open([{ name: 'net', transport, url: first.url }]);
    await first.stop();
    await waitFor(() => clients.states[0]?.state === 'failed', patience);
    expect(await call('net_echo', { words: 'hi' })).toMatch(/^Error: the MCP server net gave no answer: /);
    await serve({ transport, port: first.port, tools: ['echo', 'add'] });
    await waitFor(() => clients.tools.length === 2, patience);
    expect(await call('net_echo', { words: 'again' })).toBe('again');
  });

  it('tells that its tools changed', async () => {
    const server = await serve({ transport, tools: ['grow'] });
    const { clients, call } = await open([{ name: 'net', transport, url: server.url }]);
    await call('net_grow');
    await waitFor(() => clients.tools.length === 2);
  });
});

it('leaves out tools whose parameters have sentences for names, unless the server is trusted', async () => {
  const { url } = await serve({ tools: ['odd', 'echo'] });
  const { clients } = await open([
    { name: 'net', url },
    { name: 'own', url, trusted: true },
  ]);
  expect(clients.tools.map(({ name }) => name)).toEqual(['net_echo', 'own_odd', 'own_echo']);
  expect(warnings).toMatchObject([{ server: 'net', tools: ['odd'] }]);
});

describe('a server over streamable HTTP', () => {
  it.each([404, 400])('that forgot the session (%i) is asked once more in a new one', async (status) => {
    const called: string[] = [];
    const server = await serve({ unknownSession: status, onCall: (words) => called.push(words) });
    const { clients, call } = await open([{ name: 'net', url: server.url }]);
    server.forget();
    expect(await Promise.all(['a', 'b'].map((words) => call('net_echo', { words })))).toEqual(['a', 'b']);
    expect(called.sort()).toEqual(['a', 'b']);
    expect(clients.states[0]?.state).toBe('connected');
  });

  it('that was away is asked again by a call that has not reached it', async () => {
    const first = await serve({ key: 'sesame' });
    let isAway = false;
    let second: Promise<unknown> | undefined;
    const warn = () => {
      if (isAway) second ??= serve({ tools: ['add'], port: first.port });
    };
    const { call } = await open([{ name: 'net', url: first.url }], {
      logger: { warn },
      storedTools: () => [{ name: 'add', description: '', inputSchema: { type: 'object' } }],
    });
    await first.stop();
    isAway = true;
    expect(await call('net_add', { a: 1, b: 1 })).toBe('2');
    await second;
  });

  it('may be the example of the official SDK', async () => {
    const { url, kill } = await startMcpExample();
    cleanups.push(() => kill());
    const { call } = await open([{ name: 'sdk', url }]);
    expect(await call('sdk_greet', { name: 'Ada' })).toBe('Hello, Ada!');
  });
});

describe('the subject of a call', () => {
  const url = 'https://a.example/?d=1';
  const subjectOf = (tool: Partial<McpTool>, input: object, trusted = true) => {
    const tools = [{ name: 'fetch', description: '', inputSchema: { type: 'object' }, ...tool }];
    const [only] = toTools({ server: { name: 'web', trusted }, tools } as never);
    return only?.subject?.(input);
  };

  it.each([
    [{ url }, { url, host: 'a.example' }],
    [
      { request: { body: [` ${url}`] }, words: 'note: see it' },
      { url, host: 'a.example' },
    ],
    [
      { url, next: 'https://b.example/' },
      { url, host: 'a.example', others: [{ url: 'https://b.example/', host: 'b.example' }] },
    ],
    [{ words: 'none' }, {}],
  ])('that only reads is what its arguments name: %o', (input, subject) => {
    expect(subjectOf({ readOnly: true }, input)).toEqual(subject);
  });

  it('of a resource is its address on the web, which a server that is trusted may ask for', () => {
    const [only] = toTools({
      server: { name: 'web', trusted: true },
      tools: [],
      hasResources: true,
    } as never);
    const subject = (uri: string) => only?.subject?.({ uri });
    expect(subject(url)).toEqual({ recipient: `web ${url}`, url, host: 'a.example' });
    expect(subject('https:/a.example/?d=1')).toMatchObject({ url, host: 'a.example' });
    expect(subject('memo://insights')).toEqual({ recipient: 'web memo://insights' });
    expect(subject('file:///srv/a%20b')).toEqual({ recipient: 'web file:///srv/a%20b', path: '/srv/a b' });
  });

  it('is guessed for every other tool, so that rules by arguments hold', () => {
    const guessed = { url, host: 'a.example', guessed: true };
    expect(subjectOf({}, { url })).toEqual(guessed);
    expect(subjectOf({ readOnly: true }, { url }, false)).toEqual(guessed);
    expect(subjectOf({}, { filePath: 'keys/a' })).toEqual({ path: 'keys/a', guessed: true });
  });

  it('has no address to be checked where a tool stays within its server', () => {
    expect(subjectOf({ readOnly: true, openWorld: false }, { url })).toEqual({ host: 'a.example' });
  });
});
