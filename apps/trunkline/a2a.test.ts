import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { AgentCard, Role, type SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { temporaryDirectory } from '@trunkline/testing';
import {
  ClientFactory as EarlierFactory,
  JsonRpcTransportFactory as EarlierJsonRpc,
  DefaultAgentCardResolver as EarlierResolver,
  RestTransportFactory as EarlierRest,
} from 'a2a-sdk-0.3/client';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyOf, type Locked, type Name, names, startLocked } from './security/security.suite.ts';

/** Discovery and addressing between the four services as they run and the official SDK, both ways; npm run interop tries more. */
let fleet: Locked;
let peer: Server;

beforeAll(async () => {
  peer = await startPeer();
  const addresses = {
    base: addressOf(peer),
    endpoint: `${addressOf(peer)}/rpc`,
    card: `${addressOf(peer)}/.well-known/agent-card.json`,
  };
  const delegates = Object.entries(addresses).map(([name, url]) => ({
    name,
    url,
    type: 'a2a',
    description: 'A peer',
  }));
  const file = JSON.stringify({ delegates });
  fleet = await startLocked({
    files: { 'agent/config/agent.yaml': file, 'voice/config/delegates.yaml': file },
  });
});
afterAll(async () => {
  await fleet.stop();
  peer.closeAllConnections();
  peer.close();
});

describe.each(names)('%s', (name) => {
  it('serves one card at both well-known paths and at /a2a, and a pure form where a version is named', async () => {
    const card = async (path: string, version?: string) =>
      (await ask(name, path, version === undefined ? {} : { 'a2a-version': version })).json();
    const merged = await card('/.well-known/agent-card.json');
    const slashed = ['/.well-known/agent-card.json/', '/.well-known/agent.json/', '/a2a/'];
    for (const path of ['/.well-known/agent.json', '/a2a', ...slashed])
      expect(await card(path)).toEqual(merged);
    expect(merged).toMatchObject({
      url: `${urlOf(name)}/a2a`,
      preferredTransport: 'JSONRPC',
      protocolVersion: expect.stringMatching(/^0\.3/),
      additionalInterfaces: expect.any(Array),
      supportedInterfaces: expect.any(Array),
    });
    expect(await card('/a2a', '1.0')).not.toHaveProperty('url');
    expect(await card('/a2a', '0.3')).not.toHaveProperty('securityRequirements');
  });

  it('answers with and without a slash at the end', async () => {
    const get = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'unknown' } };
    for (const path of ['/a2a', '/a2a/'])
      expect(await (await ask(name, path, {}, get)).json()).toMatchObject({ error: { code: -32001 } });
    for (const path of ['/tasks/unknown', '/a2a/tasks/unknown', '/v1/tasks/unknown'])
      for (const slash of ['', '/']) {
        const response = await ask(name, path + slash, {});
        expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('unknown')]);
      }
  });

  it.each([
    ['1.0', 'JSONRPC'],
    ['1.0', 'HTTP+JSON'],
    ['0.3', 'JSONRPC'],
    ['0.3', 'HTTP+JSON'],
  ])('is found and asked by the official client, %s over %s', async (version, binding) => {
    const client = await connect(name, version, binding);
    const states: string[] = [];
    for await (const { payload } of client.sendMessageStream(saying('what is 12*7+3')))
      states.push(payload?.$case ?? '');
    expect(states[0]).toBe('task');
    expect(states.at(-1)).toBe('statusUpdate');
  });

  it.each([
    ['JSONRPC', EarlierJsonRpc],
    ['HTTP+JSON', EarlierRest],
  ])('is found and asked by the official client as it was at 0.3.14, over %s', async (binding, Transport) => {
    const fetchImpl = withKey(name);
    const client = await new EarlierFactory({
      transports: [new Transport({ fetchImpl })],
      preferredTransports: [binding],
      cardResolver: new EarlierResolver({ fetchImpl }),
    }).createFromUrl(urlOf(name));
    const parts = [{ kind: 'text' as const, text: 'what is 12*7+3' }];
    const message = {
      kind: 'message' as const,
      messageId: crypto.randomUUID(),
      role: 'user' as const,
      parts,
    };
    const kinds: string[] = [];
    for await (const { kind } of client.sendMessageStream({ message })) kinds.push(kind);
    expect([kinds[0], kinds.at(-1)]).toEqual(['task', 'status-update']);
  });
});

it.each(['base', 'endpoint', 'card'])(
  'a delegate of voice is reached by the address of its %s',
  async (address) => {
    // The contract of voice: the first text part of the answer counts.
    expect(await answerTo(`ask ${address} to hello`, 'voice')).toContain('Peer says:');
  },
);

describe('a delegate of the agent', () => {
  it.each(['base', 'endpoint', 'card'])(
    'is reached by the address of its %s, and all its text comes',
    async (address) => {
      expect(await answerTo(`ask ${address} to hello`)).toContain('Peer says: hello');
    },
  );
});

describe('the client as a package', () => {
  const scratch = temporaryDirectory();
  const root = resolve(import.meta.dirname, '../..');
  const installed = join(scratch.path, 'node_modules/@trunkline/a2a-client');
  const page = readFileSync(join(root, 'docs/a2a-client.md'), 'utf8');
  const run = promisify(execFile);
  let manifest: { dependencies: Record<string, string>; version: string };

  // As docs/a2a-client.md says, but for "npm install", which would ask the registry.
  beforeAll(async () => {
    const built = join(scratch.path, 'built');
    await run(process.execPath, [join(root, 'packages/ui/build/client.ts'), '--out', built]);
    const { stdout } = await run('npm', ['pack', built, '--json', '--offline'], { cwd: scratch.path });
    const [{ filename = '' } = {}] = JSON.parse(stdout) as { filename: string }[];
    mkdirSync(installed, { recursive: true });
    await run('tar', ['-xzf', filename, '-C', installed, '--strip-components=1'], { cwd: scratch.path });
    manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as typeof manifest;
    for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
      const link = join(scratch.path, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), link);
    }
    writeFileSync(join(scratch.path, 'package.json'), '{ "type": "module" }');
    const [, example = ''] = /```js\n(import .+?)```/s.exec(page) ?? [];
    writeFileSync(join(scratch.path, 'ask.js'), example);
  });
  afterAll(() => scratch.remove());

  const askWith = async (...given: string[]) => {
    const [, token] = keyOf('agent', '/a2a').authorization?.split(' ') ?? [];
    const env = { PATH: process.env.PATH, AGENT_TOKEN: token };
    return (await run(process.execPath, ['ask.js', ...given], { cwd: scratch.path, env })).stdout;
  };

  it('runs the example of its page against the agent service, which asks back', async () => {
    expect(await askWith(urlOf('agent'))).toMatch(/^.+\n.*favourite colour.*\n.*You answered: "blue"/s);
  });

  it('runs it against the official server', async () => {
    expect(await askWith(addressOf(peer), 'hello')).toBe('Peer\nPeer says: hello');
  });

  it('is not built into a folder that holds other files', async () => {
    const build = join(root, 'packages/ui/build/client.ts');
    await expect(run(process.execPath, [build, '--out', scratch.path])).rejects.toThrow('holds other files');
    expect(readdirSync(scratch.path)).toContain('ask.js');
  });

  it('is small, needs three libraries and nothing of this repository', () => {
    expect(Object.keys(manifest.dependencies)).toEqual([
      '@a2a-js/sdk',
      '@bufbuild/protobuf',
      '@grpc/grpc-js',
    ]);
    expect(page).toContain(`trunkline-a2a-client-${manifest.version}.tgz`);
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'index.js', 'package.json']));
    const whole = files.map((file) => join(installed, file)).filter((file) => statSync(file).isFile());
    const size = whole.reduce((sum, file) => sum + statSync(file).size, 0);
    expect(size).toBeLessThan(100_000);
    const [, said] = /some (\d+) kB/.exec(page) ?? [];
    expect(Math.abs(size / 1000 - Number(said))).toBeLessThan(5);
    for (const file of whole.filter((name) => /\.[jt]s$/.test(name))) {
      const text = readFileSync(file, 'utf8');
      expect(text).not.toMatch(/(from|import) ?\(?["']@trunkline/);
      // Node 20 has none of them.
      expect(text).not.toMatch(/URL\.parse\(|\.(withResolvers|groupBy|fromAsync)\(|Promise\.try\(/);
    }
  });

  it('has declarations that a strict program compiles with', async () => {
    const lines = [
      "import { createA2aClient, RemoteAgentError, type RemoteReply } from '@trunkline/a2a-client';",
      "const agent = { name: 'helper', url: 'http://127.0.0.1', trust: { jwks: 'https://a.example/jwks' } };",
      "export const reply: RemoteReply = await createA2aClient().send(agent, { text: 'hello' }, { timeoutMs: 5 });",
      "export const code = (error: unknown) => error instanceof RemoteAgentError && error.code === 'agent_timeout';",
      '// @ts-expect-error Between services of Trunkline alone.',
      "void createA2aClient().send(agent, { text: 'hello' }, { principal: undefined });",
    ];
    writeFileSync(join(scratch.path, 'ask.ts'), lines.join('\n'));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const options =
      '--strict --noEmit --module nodenext --target es2022 --types node --skipLibCheck false'.split(' ');
    await run(process.execPath, [compiler, ...options, 'ask.ts'], { cwd: scratch.path });
  });
});

const urlOf = (name: Name) => fleet.target(name).url;

function ask(name: Name, path: string, headers: Record<string, string>, body?: object): Promise<Response> {
  return fetch(urlOf(name) + path, {
    headers: { 'content-type': 'application/json', ...keyOf(name, path), ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
}

function withKey(name: Name): typeof fetch {
  return (input, init = {}) =>
    fetch(input, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init.headers)), ...keyOf(name, '/a2a') },
    });
}

async function connect(name: Name, version: string, binding: string) {
  const legacyCompat = { enabled: true };
  const fetchImpl = withKey(name);
  const card = await new DefaultAgentCardResolver({ fetchImpl, legacyCompat }).resolve(urlOf(name));
  const supportedInterfaces = card.supportedInterfaces.filter(
    (one) => one.protocolVersion === version && one.protocolBinding === binding,
  );
  const transports = [
    new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
    new RestTransportFactory({ fetchImpl, legacyCompat }),
  ];
  return new ClientFactory({ transports }).createFromAgentCard({ ...card, supportedInterfaces });
}

async function answerTo(text: string, name: Name = 'agent'): Promise<string> {
  const client = await connect(name, '1.0', 'JSONRPC');
  return JSON.stringify(await client.sendMessage(saying(text)));
}

const textPart = (value: string) => ({
  content: { $case: 'text' as const, value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});

function saying(text: string): SendMessageRequest {
  const message = {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

/** The SDK's server with an agent that answers in two pieces. */
async function startPeer(): Promise<Server> {
  const app = express();
  const server = await listening(createServer(app));
  const url = `${addressOf(server)}/rpc`;
  const card = AgentCard.fromJSON({
    ...peerCard,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), inTwoPieces);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  return server;
}

const peerCard = {
  name: 'Peer',
  description: 'Echoes.',
  version: '1',
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'Echo', description: 'Echoes.', tags: ['echo'] }],
};

const inTwoPieces: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const place = { taskId, contextId, metadata: undefined };
    const status = (state: TaskState) => ({ state, timestamp: undefined, message: undefined });
    const piece = (text: string, append: boolean) =>
      AgentEvent.artifactUpdate({
        ...place,
        append,
        lastChunk: append,
        artifact: {
          artifactId: 'a',
          name: '',
          description: '',
          parts: [textPart(text)],
          metadata: undefined,
          extensions: [],
        },
      });
    const working = status(TaskState.TASK_STATE_WORKING);
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: working,
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    bus.publish(piece('Peer says: ', false));
    bus.publish(piece('hello', true));
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(TaskState.TASK_STATE_COMPLETED) }));
  },
  cancelTask: () => Promise.reject(new Error('Nothing to cancel')),
};

async function listening(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
