import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Role, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createA2aClient } from './client/client.ts';
import { agentsOfThisFile } from './fixtures/agents.ts';
import { type Json, post, rpc, saying10, v10 } from './fixtures/calls.ts';
import type { TestAgent } from './fixtures/start-agent.ts';

const startAgent = agentsOfThisFile();
const tenants = ['red team', 'blue'];
let agent: TestAgent;
let card: AgentCard;

beforeAll(async () => {
  agent = await startAgent(
    async function* ({ tenant = 'nobody' }) {
      yield { type: 'completed', text: `for ${tenant}` };
    },
    { tenants: () => tenants },
  );
  card = await new DefaultAgentCardResolver().resolve(agent.url);
});

/** The official client for a card that names a tenant. */
function clientOf(tenant: string, protocolBinding: string): Promise<Client> {
  const url = `${agent.url}/a2a`;
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(), new RestTransportFactory()],
  });
  const supportedInterfaces = [{ url, protocolBinding, tenant, protocolVersion: '1.0' }];
  return factory.createFromAgentCard({ ...card, supportedInterfaces });
}

async function send(client: Client): Promise<Task> {
  const part = { metadata: undefined, filename: '', mediaType: '' };
  const result = await client.sendMessage({
    tenant: '',
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: crypto.randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ ...part, content: { $case: 'text', value: 'hi' } }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
  });
  if ('status' in result) return result;
  throw new Error('A message came instead of a task.');
}

const asked = { tenant: '', historyLength: undefined };

describe.each(['JSONRPC', 'HTTP+JSON'])('tenants over %s', (binding) => {
  it('are chosen by the official client, and see their own tasks only', async () => {
    const [red, blue] = [await clientOf('red team', binding), await clientOf('blue', binding)];
    const task = await send(red);
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'for red team' });
    expect((await red.getTask({ ...asked, id: task.id })).id).toBe(task.id);
    await expect(blue.getTask({ ...asked, id: task.id })).rejects.toThrow(/not found/i);
    await expect(blue.cancelTask({ ...asked, id: task.id, metadata: undefined })).rejects.toThrow(
      /not found/i,
    );
    const listed = async (client: Client) =>
      (
        await client.listTasks({
          ...asked,
          contextId: task.contextId,
          status: 0,
          pageSize: 10,
          pageToken: '',
          statusTimestampAfter: undefined,
          includeArtifacts: false,
        })
      ).tasks.map(({ id }) => id);
    expect([await listed(red), await listed(blue)]).toEqual([[task.id], []]);
    await expect(send(await clientOf('green', binding))).rejects.toThrow(/no tenant green/);
  });
});

it('tenants in the path count however the path is escaped', async () => {
  for (const [path, answer] of [
    ['red%20team/message:send', 'for red team'],
    ['blue/m%65ssage:send', 'for blue'],
    ['bl%75e/message:send', 'for blue'],
    ['bl%2575e/m%65ssage:send', 'no tenant bl%75e'],
  ]) {
    const response = await post(`${agent.url}/a2a/${path}`, saying10('hi'), v10);
    expect(await response.text(), path).toContain(answer);
  }
});

it.each(['JSONRPC', 'HTTP+JSON'])(
  'our client sends the tenant that a card names, over %s',
  async (binding) => {
    const supportedInterfaces = [
      { url: `${agent.url}/a2a`, protocolBinding: binding, tenant: 'red team', protocolVersion: '1.0' },
    ];
    const text = JSON.stringify(AgentCard.toJSON({ ...card, supportedInterfaces }));
    const elsewhere = createServer((_, response) =>
      response.setHeader('content-type', 'application/json').end(text),
    );
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void elsewhere.close());
    const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const remote = { name: 'red', url };
    const client = createA2aClient();
    const { text: answer, taskId = '' } = await client.send(remote, { text: 'hi' });
    expect(answer).toBe('for red team');
    expect(await client.get(remote, taskId)).toMatchObject({ state: 'completed', text: 'for red team' });
  },
);

it('tenants in the path are no way around the guard, and no second name of other routes', async () => {
  const closed = await startAgent(
    async function* () {
      yield { type: 'completed', text: 'ok' };
    },
    { credentials: { bearer: 'sesame' }, tenants: () => tenants },
  );
  const sent = (path: string, headers = {}) =>
    post(`${closed.url}${path}`, saying10('x'), { ...v10, ...headers });
  const known = { authorization: 'Bearer sesame' };
  expect((await sent('/a2a/blue/message:send')).status).toBe(401);
  expect((await sent('/a2a/blue/message:send', known)).status).toBe(200);
  expect((await sent('/a2a/%E0%A4%A/message:send', known)).status).toBe(400);
  expect((await sent('/a2a/blue/red/message:send', known)).status).toBe(404);
  expect((await fetch(`${closed.url}/a2a/blue/tasks`, { headers: v10 })).status).toBe(401);
});

it('an agent without tenants refuses them', async () => {
  const single = await startAgent(async function* () {
    yield { type: 'completed', text: 'ok' };
  });
  const { error } = await rpc(single, 'SendMessage', saying10('hi', {}, { tenant: 'blue' }), v10);
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('no tenant blue') });
  const { result } = await rpc(single, 'SendMessage', saying10('hi', {}, { tenant: '' }), v10);
  expect((result.task as Json).id).toEqual(expect.any(String));
});
