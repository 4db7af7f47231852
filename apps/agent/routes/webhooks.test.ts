import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readSse } from '@trunkline/http';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

describe('webhooks', () => {
  let hook: Server;
  let url: string;
  let agent: TestAgent;
  const received: (string | string[] | undefined)[][] = [];

  beforeAll(async () => {
    hook = createServer((request, response) => {
      received.push([request.headers.authorization, request.headers['x-a2a-notification-token']]);
      response.end();
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
    agent = await startAgent({ env: { PUSH_NOTIFICATION_ALLOWED_HOSTS: '127.0.0.1' } });
  });
  afterAll(async () => {
    await agent.stop();
    hook.close();
  });

  const authentication = { schemes: ['Bearer'], credentials: 'structured' };
  const set = async (pushNotificationConfig: object) => {
    const { id: taskId } = await agent.send('hello');
    await agent.rpc('tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
    return taskId;
  };

  it.each([
    [{ token: 'plain' }, 'plain'],
    [{ authentication }, 'structured'],
    [{ token: 'plain', authentication }, 'plain'],
  ])('carry the token of %j [A021] [A022] [A023] [A024] [A152]', async (form, token) => {
    received.length = 0;
    await set({ url, ...form });
    await waitFor(() => received.length > 0);
    expect(received[0]).toEqual([`Bearer ${token}`, token]);
  });

  it('can be looked up, listed and deleted, by REST too [A121] [A122] [A137]', async () => {
    const taskId = await set({ id: 'mine', url, token: 'plain' });
    const call = async (method: string) =>
      (await agent.rpc(`tasks/pushNotificationConfig/${method}`, { taskId })).result;
    expect(JSON.stringify(await call('get'))).toContain(url);
    const listed = await (await agent.fetch(`/a2a/tasks/${taskId}/pushNotificationConfig`)).text();
    expect(listed).toContain(url);
    expect(listed).not.toContain('plain');
    await agent.rpc('tasks/pushNotificationConfig/delete', { taskId, pushNotificationConfigId: 'mine' });
    expect(JSON.stringify(await call('list'))).not.toContain(url);
  });

  it('are refused for private addresses unless they are listed [A043] [A136]', async () => {
    const careful = await startAgent();
    const { id: taskId } = await careful.send('hello');
    const pushNotificationConfig = { url };
    const refused = await careful.rpc('tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
    expect(refused.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('webhook url rejected'),
    });
    const rest = await careful.fetch(
      `/a2a/tasks/${taskId}/pushNotificationConfig`,
      post(pushNotificationConfig),
    );
    expect(rest.status).toBe(400);
    await careful.stop();
  });
});

it('a scheduled prompt runs as a turn of its own and shows in the feed [A005] [A057]', async () => {
  const agent = await startAgent({ env: { A2A_AUTH_TOKEN: 'token', TRUNKLINE_AGENT_API_KEY: 'key' } });
  const stream = await agent.fetch('/api/events');
  const when = new Date(Date.now() + 1500).toISOString();
  const planned = await agent.fetch('/api/scheduler/jobs', {
    ...post({ prompt: 'What is 6 * 7?', when, job_id: 'sum' }),
    headers: { 'content-type': 'application/json', authorization: 'Bearer token' },
  });
  expect(planned.status).toBe(200);
  const told: Record<string, unknown>[] = [];
  for await (const { data } of readSse(stream.body as AsyncIterable<Uint8Array>)) {
    told.push(JSON.parse(data));
    if (told.length === 2) break;
  }
  expect(told).toMatchObject([
    { role: 'user', origin: 'scheduler', trigger: 'sum', text: 'What is 6 * 7?' },
    { role: 'assistant', text: expect.stringContaining('42') },
  ]);
  const stores = [
    'memory',
    'knowledge/knowledge.db',
    'beads/issues.db',
    'inbox/inbox.db',
    'scheduler',
    'state',
  ];
  for (const place of [...stores, 'audit/audit.jsonl']) {
    expect([place, existsSync(join(agent.home, 'agent', place))]).toEqual([place, true]);
  }
  await agent.stop();
});
