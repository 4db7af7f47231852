import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { expect, it, onTestFinished } from 'vitest';
import { RunningCalls } from './running-calls.ts';
import { capabilitiesFor, handleServerRequests, type ServerRequestOptions } from './server-requests.ts';

const calls = new RunningCalls();
const none = { calls, sample: undefined, sampledAt: [], onLog: undefined, onResourceUpdated: undefined };

/** A server of the official SDK at the other end of a connection to us. */
async function connected(options: ServerRequestOptions): Promise<Server> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: capabilitiesFor(options) });
  handleServerRequests(client, options);
  const server = new Server({ name: 'box', version: '1' }, { capabilities: { resources: {} } });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([client.connect(ours), server.connect(theirs)]);
  onTestFinished(() => client.close());
  return server;
}

it('a new connection has no new limit of model calls', async () => {
  const options = {
    ...none,
    server: { name: 'box', sampling: { callsPerHour: 1, maxTokens: 10 } },
    sample: async () => ({ text: 'In short.', model: 'm' }),
    sampledAt: [],
  };
  const request = { messages: [], maxTokens: 10 };
  await (await connected(options)).createMessage(request);
  await expect((await connected(options)).createMessage(request)).rejects.toThrow(
    'has used its 1 model calls of this hour',
  );
});

it('a server is heard about the resources alone that were asked for', async () => {
  const heard: string[] = [];
  const subscribe = ['docs://guide', 'docs://last'];
  const onResourceUpdated = (uri: string) => void heard.push(uri);
  const server = await connected({ ...none, server: { name: 'box', subscribe }, onResourceUpdated });
  for (const uri of ['docs://other', 'docs://guidebook', 'docs://guide/1', 'docs://guide', 'docs://last'])
    await server.sendResourceUpdated({ uri });
  await expect.poll(() => heard.at(-1)).toBe('docs://last');
  expect(heard).toEqual(['docs://guide', 'docs://guide', 'docs://last']);
});
