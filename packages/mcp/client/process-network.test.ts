// What a server that is a program reaches from its sandbox, as its settings have it.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSandbox, findIsolation, type SandboxSettings } from '@trunkline/sandbox';
import { mcpProgram } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { McpClients } from '../index.ts';

const isolation = await findIsolation();
const missing = isolation.kind === 'none' ? isolation.reason : '';
beforeEach(({ skip }) => skip(missing !== '', missing));

let server: Server;
let port = 0;
beforeAll(async () => {
  server = createServer((request, response) => response.end(`reached ${request.headers.host}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** `public.test` has an address of the internet, which is really here; all other names lead to this machine. */
const addresses = {
  lookup: async (host: string) => [
    { address: host === 'public.test' ? '93.184.215.14' : '127.0.0.1', family: 4 },
  ],
  dial: () => '127.0.0.1',
  // For the services, not for programs.
  allowedHosts: ['127.0.0.1', 'localhost', 'agent.test'],
};

/** What the server gets from each host. */
async function read(settings: SandboxSettings | undefined, hosts: string[]): Promise<string[]> {
  const sandbox = createSandbox({ mode: 'auto', addresses });
  const warnings: object[] = [];
  const logger = { warn: (fields: object) => void warnings.push(fields) };
  const clients = new McpClients({ clientName: 'test', logger, sandbox });
  onTestFinished(() => clients.close());
  const program = { name: 'box', command: process.execPath, args: [mcpProgram, 'get'], timeoutMs: 30_000 };
  await clients.configure([{ ...program, sandbox: settings }]);
  const [tool] = clients.tools;
  if (tool === undefined) throw new Error(JSON.stringify(warnings));
  const answers: string[] = [];
  for (const host of hosts) {
    const input = tool.input.parse({ url: `http://${host}:${port}/` });
    const context = { signal: AbortSignal.timeout(50_000), sessionId: 's', toolCallId: 'c' };
    answers.push(String(await tool.execute(input, context)).replaceAll(String(port), 'PORT'));
  }
  return answers;
}

it('is the public internet by default: nothing of this machine, whatever the services may read', async () => {
  const [open, ...closed] = await read(undefined, ['public.test', '127.0.0.1', 'localhost', 'agent.test']);
  expect(open).toContain('reached public.test');
  expect(closed).toHaveLength(3);
  for (const answer of closed) expect(answer).not.toContain('reached');
});

it('is more or less where its settings say so', async () => {
  const listed = await read(
    { network: { hosts: ['agent.test:1', `agent.test:${port}`] }, readOnly: [], writable: [] },
    ['agent.test', 'public.test'],
  );
  expect(listed).toEqual([
    expect.stringContaining('reached agent.test'),
    expect.not.stringContaining('reached'),
  ]);
  const [open] = await read({ network: 'open', readOnly: [], writable: [] }, ['127.0.0.1']);
  expect(open).toContain('reached 127.0.0.1');
});
