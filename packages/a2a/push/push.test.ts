import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asksForName, begin, echo, hookedAgents, SteppedAgent, sending } from '../fixtures/agents.ts';
import { type Json, rpc, saying, saying10, v10 } from '../fixtures/calls.ts';
import { hideTable } from '../fixtures/engines.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';
import { createPushGuard, type PushGuardOptions } from './delivery.ts';

const start = hookedAgents();

describe('what a webhook is told', () => {
  it('tells the first state and the end, with the artifact and both headers [A022] [A023] [A105] [A108] [A152] [A155]', async () => {
    const { agent, hook } = await start(echo);
    const { result } = await rpc(
      agent,
      'message/send',
      sending('hi', { url: `${hook.url}?a=1`, token: 'sesame' }),
    );
    await waitFor(() => hook.states().includes('completed'));
    expect(hook.calls.at(-1)).toMatchObject({
      path: '/hook?a=1',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer sesame',
        'x-a2a-notification-token': 'sesame',
      },
      body: {
        kind: 'status-update',
        taskId: result.id,
        contextId: result.contextId,
        status: { state: 'completed' },
        final: true,
        artifact: { parts: [{ kind: 'text', text: 'You said hi' }] },
      },
    });
  });

  it.each<[string, Json, string | undefined, string | undefined]>([
    [
      'a structured token',
      { authentication: { schemes: ['bearer'], credentials: 'deep' } },
      'Bearer deep',
      'deep',
    ],
    ['another scheme', { authentication: { scheme: 'Basic', credentials: 'dTpw' } }, 'Basic dTpw', 'dTpw'],
    [
      'both forms, of which the outer wins',
      { token: 'outer', authentication: { schemes: ['Basic'], credentials: 'inner' } },
      'Bearer outer',
      'outer',
    ],
    ['no token', {}, undefined, undefined],
  ])('sends %s [A023] [A024]', async (_what, form, authorization, token) => {
    const { agent, hook } = await start(echo);
    await rpc(agent, 'message/send', sending('hi', { url: hook.url, ...form }));
    await waitFor(() => hook.states().includes('completed'));
    const headers = hook.calls.at(-1)?.headers;
    expect(headers?.authorization).toBe(authorization);
    expect(headers?.['x-a2a-notification-token']).toBe(token);
  });

  it('speaks 1.0 to those who registered in 1.0', async () => {
    const agentScript = new SteppedAgent();
    const { agent, hook } = await start(agentScript.script);
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } };
    const { result } = await rpc(agent, 'SendMessage', saying10('go', {}, { configuration }), v10);
    const { id } = result.task as { id: string };
    await waitFor(() => hook.calls.length === 1);
    expect(hook.calls[0]).toMatchObject({
      headers: { 'content-type': 'application/a2a+json' },
      body: { statusUpdate: { taskId: id, status: { state: 'TASK_STATE_WORKING' } } },
    });
    agentScript.step({ type: 'completed', text: 'done' });
    await waitFor(() => hook.calls.length === 2);
    expect(hook.calls[1]?.body).toMatchObject({
      task: { id, status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'done' }] }] },
    });
  });

  it('tells a question at once [A106]', async () => {
    const { agent, hook } = await start(asksForName);
    await rpc(agent, 'message/send', sending('hi', { url: hook.url }));
    await waitFor(() => hook.states().includes('input-required'));
    expect(hook.calls.at(-1)?.body).toMatchObject({
      final: true,
      status: { message: { parts: [{ text: 'What is your name?' }] } },
    });
  });

  it('fires at once for a task that has ended, and never shows the token again [A136]', async () => {
    const { agent, hook } = await start(echo);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const set = await rpc(agent, 'tasks/pushNotificationConfig/set', {
      taskId: result.id,
      pushNotificationConfig: { url: hook.url, token: 'sesame' },
    });
    expect(set.result).toMatchObject({ taskId: result.id, pushNotificationConfig: { url: hook.url } });
    await waitFor(() => hook.calls.length === 1);
    expect(hook.states()).toEqual(['completed']);
    const listed = await rpc(agent, 'tasks/pushNotificationConfig/list', { taskId: result.id });
    expect(JSON.stringify([set.body, listed.body])).not.toContain('sesame');
  });

  it('tells every webhook of a task, and none that was deleted [A137]', async () => {
    const stepped = new SteppedAgent();
    const { agent, hook } = await start(stepped.script);
    const taskId = await begin(agent, { id: 'one', url: `${hook.url}/one` });
    for (const id of ['two', 'three']) {
      const pushNotificationConfig = { id, url: `${hook.url}/${id}` };
      await rpc(agent, 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
    }
    await rpc(agent, 'tasks/pushNotificationConfig/delete', { taskId, pushNotificationConfigId: 'two' });
    stepped.step({ type: 'completed', text: 'x' });
    await waitFor(
      () => agent.push?.deliveries(taskId).filter(({ state }) => state === 'completed').length === 2,
    );
    const told = hook.calls.filter(({ body }) => body.final === true).map(({ path }) => path);
    expect(told.toSorted()).toEqual(['/hook/one', '/hook/three']);
  });

  it('refuses an address or a token that would fill the disk', async () => {
    const { agent, hook } = await start(asksForName);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const set = (pushNotificationConfig: Json) =>
      rpc(agent, 'tasks/pushNotificationConfig/set', { taskId: result.id, pushNotificationConfig });
    const long = await set({ url: `${hook.url}/${'x'.repeat(2048)}` });
    expect(long.body.error).toMatchObject({ code: -32602, message: expect.stringContaining('2048') });
    const token = await set({ url: hook.url, token: 'x'.repeat(4097) });
    expect(token.body.error).toMatchObject({ code: -32602, message: expect.stringContaining('4096') });
    expect((await set({ url: hook.url, token: 'x'.repeat(4096) })).body.error).toBeUndefined();
  });

  it('takes sixteen webhooks for a task and says so at the next', async () => {
    const { agent, hook } = await start(asksForName);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const set = (id: string) =>
      rpc(agent, 'tasks/pushNotificationConfig/set', {
        taskId: result.id,
        pushNotificationConfig: { id, url: hook.url },
      });
    for (let count = 1; count <= 16; count += 1) expect((await set(`hook-${count}`)).error).toBeUndefined();
    expect((await set('hook-17')).error).toMatchObject({ code: -32602 });
    expect((await set('hook-16')).error).toBeUndefined();
  });
});

describe('where notifications may go', () => {
  it('refuses a private address in every way to register one [A121] [A136]', async () => {
    const { agent } = await start(asksForName, { push: {} });
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const url = 'http://169.254.169.254/';
    const wrong = { code: -32602, message: expect.stringContaining('webhook url rejected') };
    const set = { taskId: result.id, pushNotificationConfig: { url } };
    expect((await rpc(agent, 'tasks/pushNotificationConfig/set', set)).error).toMatchObject(wrong);
    const create = { taskId: result.id, url };
    expect((await rpc(agent, 'CreateTaskPushNotificationConfig', create, v10)).error).toMatchObject(wrong);
    expect((await rpc(agent, 'message/send', sending('x', { url }))).error).toMatchObject(wrong);
    const rest = await fetch(`${agent.url}/a2a/tasks/${String(result.id)}/pushNotificationConfig`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url }),
    });
    expect(rest.status).toBe(400);
    expect(await rest.text()).toContain('webhook url rejected');
    expect(agent.engine.list({}).totalSize).toBe(1);
  });

  it('looks at the address again before sending, and connects to no other', async () => {
    const answers = ['93.184.216.34', '127.0.0.1'];
    const lookup = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    const { agent, hook } = await start(echo, { push: { lookup } });
    const { result } = await rpc(
      agent,
      'message/send',
      sending('hi', { url: `http://rebinding.example:${hook.port}/hook` }),
    );
    const taskId = String(result.id);
    await waitFor(() => agent.push?.deliveries(taskId).some(({ state }) => state === 'completed'));
    expect(hook.calls).toHaveLength(0);
    expect(agent.push?.deliveries(taskId).at(-1)).toMatchObject({
      outcome: 'refused',
      attempt: 1,
      reason: expect.stringContaining('PUSH_NOTIFICATION_ALLOWED_HOSTS'),
    });
  });

  it('delivers to a name whose address lies in an open block [A044]', async () => {
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    const { agent, hook } = await start(echo, { push: { lookup, allowedCidrs: ['127.0.0.0/8'] } });
    await rpc(agent, 'message/send', sending('hi', { url: `http://inside.example:${hook.port}/hook` }));
    await waitFor(() => hook.states().includes('completed'));
    expect(hook.calls.at(-1)?.headers.host).toBe(`inside.example:${hook.port}`);
  });

  it('says in its card and its errors when there are no notifications', async () => {
    const { agent } = await start(echo, { push: false });
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const list = await rpc(agent, 'tasks/pushNotificationConfig/list', { taskId: result.id });
    expect(list.error).toMatchObject({ code: -32003 });
    const card = await (await fetch(`${agent.url}/.well-known/agent-card.json`)).json();
    expect(card).toMatchObject({ capabilities: { pushNotifications: false } });
  });
});

const refusal =
  'webhook url rejected: must be http/https, public IP, not loopback/private/link-local/multicast/reserved';

const names: Record<string, string[]> = {
  'public.example': ['93.184.216.34'],
  'public6.example': ['2606:2800:220:1::1'],
  'private.example': ['10.1.2.3'],
  'mixed.example': ['93.184.216.34', '192.168.0.7'],
};

function guard(options: PushGuardOptions = {}) {
  return createPushGuard({
    lookup: async (host) => {
      const addresses = names[host];
      if (addresses === undefined) throw Object.assign(new Error('unknown host'), { code: 'ENOTFOUND' });
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    ...options,
  });
}

describe('addresses of webhooks', () => {
  it.each([
    ['no address at all', 'not a url'],
    ['another scheme', 'ftp://public.example/x'],
    ['a file', 'file:///etc/passwd'],
    ['script', 'javascript:alert(1)'],
    ['loopback', 'http://127.0.0.1/x'],
    ['loopback, all of it', 'http://127.8.9.10/x'],
    ['loopback as one number', 'http://2130706433/x'],
    ['loopback in octal', 'http://0177.0.0.1/x'],
    ['this host', 'http://0.0.0.0/x'],
    ['a private block of class A', 'http://10.0.0.1/x'],
    ['a private block of class B', 'http://172.16.0.1/x'],
    ['the end of that block', 'http://172.31.255.255/x'],
    ['a private block of class C', 'https://192.168.1.1/x'],
    ['link-local, where clouds keep secrets', 'http://169.254.169.254/latest/meta-data'],
    ['carrier NAT', 'http://100.64.0.1/x'],
    ['multicast', 'http://224.0.0.1/x'],
    ['reserved', 'http://240.0.0.1/x'],
    ['broadcast', 'http://255.255.255.255/x'],
    ['IPv6 loopback', 'http://[::1]/x'],
    ['IPv6 unspecified', 'http://[::]/x'],
    ['IPv6 unique local', 'http://[fd00::1]/x'],
    ['IPv6 link-local', 'http://[fe80::1]/x'],
    ['IPv6 multicast', 'http://[ff02::1]/x'],
    ['IPv4 mapped into IPv6', 'http://[::ffff:127.0.0.1]/x'],
    ['IPv4 mapped, in hex', 'http://[::ffff:a00:1]/x'],
    ['IPv4 through NAT64', 'http://[64:ff9b::10.0.0.1]/x'],
    ['IPv4 through 6to4', 'http://[2002:a00:1::]/x'],
    ['a name for a private address', 'http://private.example/x'],
    ['a name of which one address is private', 'http://mixed.example/x'],
    ['a name that nobody knows', 'http://nowhere.example/x'],
  ])('refuses %s: %s [A136]', async (_what, url) => {
    await expect(guard().check(url)).rejects.toMatchObject({ message: refusal });
  });

  it.each(['http://public.example/x', 'https://public6.example:8443/x', 'http://93.184.216.34/x'])(
    'takes %s',
    async (url) => {
      await expect(guard().check(url)).resolves.toBeUndefined();
    },
  );

  it('takes named hosts without resolving them, whatever their case [A043]', async () => {
    const open = guard({ allowedHosts: ['nowhere.example', ' Private.Example '] });
    await expect(open.check('http://nowhere.example/x')).resolves.toBeUndefined();
    await expect(open.check('http://PRIVATE.example:99/x')).resolves.toBeUndefined();
    await expect(open.check('http://mixed.example/x')).rejects.toMatchObject({ message: refusal });
    await expect(open.check('ftp://nowhere.example/x')).rejects.toMatchObject({ message: refusal });
  });

  it('takes addresses of the listed blocks and no other [A044]', async () => {
    const open = guard({ allowedCidrs: [' 10.0.0.0/8', 'fd00::/8', ''] });
    await expect(open.check('http://10.200.0.1/x')).resolves.toBeUndefined();
    await expect(open.check('http://private.example/x')).resolves.toBeUndefined();
    await expect(open.check('http://[fd12::1]/x')).resolves.toBeUndefined();
    await expect(open.check('http://192.168.0.1/x')).rejects.toMatchObject({ message: refusal });
  });

  it.each(['10.0.0.0/33', 'office', '10.0.0/8', 'fd00::/129'])(
    'names the block %s that is none when it starts [A044]',
    (cidr) => {
      expect(() => guard({ allowedCidrs: ['10.0.0.0/8', cidr] })).toThrow(
        `PUSH_NOTIFICATION_ALLOWED_CIDRS: "${cidr}" is not an address block`,
      );
    },
  );

  it.each([
    ['never comes', ''],
    ['comes slowly', 'x'],
  ])('has the status of an answer whose body %s', async (_what, drop) => {
    const open = new Set<Socket>();
    const server = createServer((socket) => {
      open.add(socket.on('error', () => undefined));
      socket.once('data', () => socket.write(`HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\n${drop}`));
      socket.once('close', () => open.delete(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const local = guard({ allowedHosts: ['127.0.0.1'] });
    expect(await local.post(url, {}, '{}', new AbortController().signal)).toBe(202);
    await waitFor(() => open.size === 0);
  });

  it('lets through the origins of the services beside this one, port and all', async () => {
    const related = guard({ allowedOrigins: () => ['http://127.0.0.1:7866'] });
    await expect(related.check('http://127.0.0.1:7866/a2a/callback')).resolves.toBeUndefined();
    for (const url of ['http://127.0.0.1:7867/x', 'https://127.0.0.1:7866/x', 'http://localhost:7866/x'])
      await expect(related.check(url)).rejects.toMatchObject({ message: refusal });
  });
});

const hide = (agent: TestAgent, table: string) => hideTable(join(agent.directory.path, 'a2a-push.db'), table);

describe('a disk that does not take what is noted of webhooks', () => {
  it('keeps nobody from being told, and ends no process', async () => {
    const { agent, hook, clock } = await start(echo);
    const showTable = hide(agent, 'push_deliveries');
    await rpc(agent, 'message/send', sending('hi', { url: hook.url }));
    await waitFor(() => hook.states().includes('completed'));
    await waitFor(() => agent.logger.errors().includes('failed to write a2a-push.db'));
    await clock.advanceBy(6 * 60 * 1000);
    showTable();
    const { result } = await rpc(agent, 'message/send', sending('again', { url: hook.url }));
    await waitFor(() => agent.push?.deliveries(String(result.id)).some(({ state }) => state === 'completed'));
  });

  it('leaves no task behind that was refused for it', async () => {
    const { agent, hook } = await start(echo);
    const showTable = hide(agent, 'push_configs');
    const { error } = await rpc(agent, 'message/send', sending('hi', { url: hook.url }));
    expect(error).toMatchObject({ code: -32603 });
    expect(agent.engine.running).toBe(0);
    showTable();
  });

  it('takes no answer that was refused for it into the conversation', async () => {
    const { agent, hook } = await start(asksForName);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const taskId = String(result.id);
    const showTable = hide(agent, 'push_configs');
    const configuration = { pushNotificationConfig: { url: hook.url } };
    const refused = await rpc(agent, 'message/send', saying('Bob', { taskId }, { configuration }));
    expect(refused.error).toMatchObject({ code: -32603 });
    showTable();
    await rpc(agent, 'message/send', saying('Ada', { taskId }));
    const said = agent.engine.get(taskId).history.filter(({ role }) => role === 'user');
    expect(said.map(({ parts }) => parts[0])).toMatchObject([{ text: 'hi' }, { text: 'Ada' }]);
  });
});
