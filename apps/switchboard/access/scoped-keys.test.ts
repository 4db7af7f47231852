import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSse } from '@trunkline/http';
import { FakeGitHub, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const scoped = (name: string, more = '') =>
  `  - { name: ${name}, envKey: KEY_OF_${name.toUpperCase().replace('-', '_')}, publish: [command.schedule, cron.${name}.#${more}], subscribe: [cron.${name}.#, schedule.#] }\n`;
const keysFile = `keys:\n${scoped('ava', ', message.outbound.messenger.cron')}${scoped('ava-b')}${scoped('full')}${scoped('max', ', agent.skill.request, message.outbound.chat.push.77, cron.mate.#, message.inbound.max')}`;
const env = {
  SWITCHBOARD_API_KEY: 'operator-key',
  KEY_OF_AVA: 'ava-key',
  KEY_OF_AVA_B: 'ava-b-key',
  KEY_OF_FULL: 'full-key',
  KEY_OF_MAX: 'max-key',
  QUOTA_MB: '1',
};
const helm = 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n';
const cron = (id: string, topic: string, more = '') =>
  `id: ${id}\nschedule: 0 9 * * *\ntopic: ${topic}\npayload: { content: hush-${id} }\n${more}`;
const files = {
  'keys.yaml': keysFile,
  'agents/helm.yaml': helm,
  'codehost.yaml': 'skillHints: { issues: chat }',
  // As older versions wrote them, without an owner.
  'crons/ava-b-old.yaml': cron('ava-b-old', 'cron.ava-b.old'),
  'crons/ava-old.yaml': cron('ava-old', 'cron.ava.old'),
  'crons/ava-plain.yaml': cron('ava-plain', 'cron.ava-plain'),
  'crons/nightly.yaml': cron('nightly', 'cron.ava.nightly'),
};

let [board, github] = [] as unknown as [TestSwitchboard, FakeGitHub];
beforeAll(async () => {
  github = await FakeGitHub.start({ token: 'token-of-the-code-host', login: 'owner' });
  const codehost = {
    CODEHOST_TOKEN: 'token-of-the-code-host',
    CODEHOST_WEBHOOK_SECRET: 'secret-of-the-hooks',
    CODEHOST_API_URL: github.url,
  };
  board = await startSwitchboard({ env: { ...env, ...codehost }, files });
});
afterAll(async () => {
  await board.stop();
  await github.stop();
});

const key = (name: string) => ({ 'x-api-key': `${name}-key` });
async function request(method: string, path: string, name: string, body?: Json) {
  const init = { method, headers: key(name), ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await board.fetch(`/api/schedules${path}`, init);
  return { status: response.status, body: (await response.json()) as Json };
}
const record = (id: string, topic: string, payload: Json = {}, more: Json = {}) => ({
  id,
  schedule: '0 9 * * *',
  topic,
  payload: { content: 'Ping', ...payload },
  ...more,
});
const add = async (name: string, ...given: Parameters<typeof record>) =>
  await request('POST', '', name, record(...given));
const publish = (name: string, body: Json) => board.call('/publish', body, key(name));
const command = async (name: string, payload: Json) =>
  (await publish(name, { topic: 'command.schedule', payload })).status;
const listed = async (name: string) =>
  (await request('GET', '', name)).body.data.schedules.map(({ id }: Json) => id);

it('publishes so many megabytes a day, each key for itself, the operator all', async () => {
  const publish = (name: string, topic: string) =>
    board.fetch('/publish', {
      method: 'POST',
      headers: key(name),
      body: JSON.stringify({ topic, payload: { content: 'x'.repeat(600_000) } }),
    });
  expect([(await publish('max', 'cron.max.a')).status, (await publish('ava', 'cron.ava.a')).status]).toEqual([
    200, 200,
  ]);
  const refused = await publish('max', 'cron.max.b');
  expect([refused.status, await refused.text()]).toEqual([
    429,
    expect.stringMatching(/QUOTA_MB.*wait a day/),
  ]);
  const schedule = await request(
    'POST',
    '',
    'max',
    record('big', 'cron.max.big', { content: 'x'.repeat(600_000) }),
  );
  expect([schedule.status, JSON.stringify(schedule.body)]).toEqual([
    429,
    expect.stringContaining('QUOTA_MB'),
  ]);
  expect((await publish('full', 'cron.full.a')).status).toBe(200);
  const large = { content: 'x'.repeat(447_000) };
  expect((await add('full', 'full-stops', 'cron.full.stops', large)).status).toBe(201);
  // Who is full may still end what runs, in few words.
  const pause = async (length: number) =>
    (await request('POST', '/full-stops/pause', 'full', { why: 'x'.repeat(length) })).status;
  expect([await pause(4000), await pause(5000)]).toEqual([200, 429]);
  expect((await request('DELETE', '/full-stops', 'full')).status).toBe(200);
  for (const topic of ['note.a', 'note.b']) expect((await publish('operator', topic)).status).toBe(200);
});

it('takes a 64th of that a day from all strangers who write on the code host together', async () => {
  const deliver = async (login: string, size: number) => {
    const repository = { name: 'rail', full_name: 'acme/rail', owner: { login: 'acme' } };
    const issue = { number: 5, title: login, body: 'x'.repeat(size), html_url: 'https://x.example/5' };
    const payload = { action: 'opened', repository, sender: { login }, issue };
    await github.deliver(`${board.url}/webhook/codehost`, 'issues', payload, {
      secret: 'secret-of-the-hooks',
    });
  };
  const heard = async () => {
    const path = '/api/bus/history?topic=message.inbound.codehost.%23&limit=100';
    const { messages } = (await board.call(path, undefined, key('operator'))).body.data;
    return messages.map(({ message }: Json) => message.principal.id).sort();
  };
  await deliver('eve', 10_000);
  await waitFor(async () => (await heard()).length === 1);
  // Names cost nothing there. What is small still fits.
  await deliver('mallory', 10_000);
  await deliver('bob', 1000);
  await waitFor(async () => (await heard()).length === 2);
  expect(await heard()).toEqual(['codehost:bob', 'codehost:eve']);
});

describe('schedules of scoped keys', () => {
  it('belong to exactly one key, however much the names resemble each other', async () => {
    expect((await add('ava-b', 'ava-b-daily', 'cron.ava-b.daily')).status).toBe(201);
    expect(readFileSync(join(board.workspace, 'crons/ava-b-daily.yaml'), 'utf8')).toContain('owner: ava-b');
    for (const id of ['ava-b-daily', 'ava-b-old', 'ava-plain']) {
      expect((await request('DELETE', `/${id}`, 'ava')).status).toBe(403);
      for (const action of ['pause', 'resume', 'run-now'])
        expect((await request('POST', `/${id}/${action}`, 'ava')).status).toBe(403);
      expect((await request('GET', `/${id}`, 'ava')).status).toBe(404);
      expect((await request('PUT', `/${id}`, 'ava', record(id, 'cron.ava.mine'))).status).toBe(403);
      for (const action of ['remove', 'pause', 'preview'])
        expect(await command('ava', { action, id })).toBe(403);
    }
    expect(await listed('ava-b')).toEqual(['ava-b-daily', 'ava-b-old']);
    expect(await listed('ava')).toEqual(['ava-old', 'nightly']);
    expect((await request('DELETE', '/ava-b-daily', 'ava-b')).status).toBe(200);
    expect((await request('POST', '/nightly/pause', 'ava')).status).toBe(200);
  });

  it('keep their owner when the operator changes them, and are handed over by nobody else', async () => {
    await add('ava', 'ava-kept', 'cron.ava.kept');
    const changed = record('ava-kept', 'cron.elsewhere', {}, { schedule: '0 8 * * *' });
    expect((await request('PUT', '/ava-kept', 'operator', changed)).status).toBe(200);
    expect((await request('POST', '/ava-kept/pause', 'ava')).status).toBe(200);
    const given = record('ava-gift', 'cron.ava.gift', {}, { owner: 'ava-b' });
    expect((await request('POST', '', 'ava', given)).status).toBe(403);
    const owned = (await request('GET', '/ava-kept', 'ava')).body.data.schedule;
    expect([owned.owner, owned.schedule]).toEqual(['ava', '0 8 * * *']);
  });

  it('are listed on the bus for their owner alone', async () => {
    const lists: Json[] = [];
    const controller = new AbortController();
    const init = { headers: key('ava'), signal: controller.signal };
    const response = await board.fetch('/api/bus/stream?topic=schedule.list', init);
    const read = async () => {
      for await (const { data } of readSse(response.body!)) lists.push(JSON.parse(data));
    };
    const reading = read().catch(() => undefined);
    expect(await command('ava', { action: 'list' })).toBe(200);
    await waitFor(() => lists.length > 0);
    controller.abort();
    await reading;
    const [message] = lists;
    const ids = message.payload.schedules.map(({ id }: Json) => id);
    expect(ids).toEqual(expect.arrayContaining(['ava-old', 'nightly']));
    expect(JSON.stringify(message)).not.toContain('hush-ava-b-old');
    expect(JSON.stringify(message)).not.toContain('hush-ava-plain');
  });

  it('give no orders to the switchboard when they fire', async () => {
    const order = { action: 'remove', id: 'ava-b-old' };
    expect((await add('ava', 'ava-order', 'command.schedule', order)).status).toBe(403);
    expect((await add('max', 'max-forge', 'agent.skill.response.x')).status).toBe(403);
  });

  it.each([
    ['ava', { channel: 'messenger' }, 201],
    ['ava', { channel: 'messenger', sender: '+49123' }, 403],
    ['ava', { channel: '77' }, 403],
    ['max', { channel: '77' }, 201],
    ['max', { channel: '78' }, 403],
    ['ava', { channel: 'cli' }, 201],
    ['ava', { channel: 'a2a', agent_name: 'ava' }, 201],
    ['ava', { channel: 'a2a', agent_name: 'mate' }, 403],
    ['ava', { channel: 'a2a', agent_name: 'ava-b' }, 403],
    ['max', { channel: 'a2a', agent_name: 'mate' }, 201],
    ['ava', { skillHint: 'files.write' }, 403],
    ['ava', { agent: 'helm' }, 403],
    ['ava', { targets: ['helm'] }, 403],
    ['ava', { skillHint: 'chat', agent: 'ava' }, 201],
    ['ava', { skillHint: 'chat', agent: 'ava', targets: ['helm'] }, 403],
    ['max', { skillHint: 'chat', agent: 'helm' }, 201],
  ])('of %s with %j are answered with %s, and so is what it publishes', async (name, payload, status) => {
    const id = `${name}-asks`;
    const made = await request('PUT', `/${id}`, name, record(id, `cron.${name}.asks`, payload));
    expect(made.status).toBe(status === 201 ? 200 : 403);
    if (status === 403) expect(made.body.error).toContain('keys.yaml');
    const said = { topic: `cron.${name}.now`, payload: { content: 'x', ...payload } };
    expect((await publish(name, said)).status).toBe(status === 201 ? 200 : 403);
  });
});

it('a message of a scoped key names no agent, and no place for the answer, beyond its patterns', async () => {
  const inbound = (more: Json) =>
    publish('ava', { topic: 'message.inbound.max', payload: { content: 'x', ...more } });
  expect((await inbound({})).status).toBe(403);
  for (const reply of [
    'message.outbound.chat.5',
    'command.schedule',
    'agent.skill.response.c',
    'cron.ava-b.x',
  ])
    expect((await publish('ava', { topic: 'cron.ava.x', payload: {}, reply: { topic: reply } })).status).toBe(
      403,
    );
});

it('a scoped key that names a conversation of others hears nothing of it', async () => {
  const model = await startModelServer({ script: () => 'fine' });
  const gateway = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
  const other = await startSwitchboard({ env: { ...env, ...gateway }, files });
  const say = async (name: string, content: string) => {
    const before = model.chats().length;
    const payload = { skillHint: 'chat', agent: 'helm', content, conversationId: 'shared' };
    await other.call('/publish', { topic: 'agent.skill.request', payload }, key(name));
    await waitFor(() => model.chats().length > before);
    return JSON.stringify(model.chats().at(-1)?.messages);
  };
  await say('operator', 'The word is swordfish.');
  const remembers = async () => (await say('operator', 'Well?')).includes('swordfish');
  await waitFor(remembers);
  expect(await say('max', 'What was the word?')).not.toContain('swordfish');
  await waitFor(async () => (await say('max', 'Well?')).includes('What was the word?'));
  await other.stop();
  await model.stop();
});

/** Resolves when the stream is over; the messages that came are in the list that it gives. */
async function stream(name: string) {
  const response = await board.fetch('/api/bus/stream', { headers: key(name) });
  expect(response.status).toBe(200);
  const topics: string[] = [];
  const read = async () => {
    for await (const { data } of readSse(response.body!)) topics.push(JSON.parse(data).topic);
  };
  return { topics, over: read().catch(() => undefined) };
}

it('what is open ends at once when its key is revoked or changed, and other streams go on', async () => {
  const [ava, rival, operator] = await Promise.all([stream('ava'), stream('ava-b'), stream('operator')]);
  const asking = board
    .call('/api/agent/ask-human', { correlationId: 'c', question: 'May I?' }, key('ava'))
    .then(
      () => 'answered',
      () => 'cut off',
    );
  const pending = async () => (await board.call('/api/hitl/pending', undefined, key('operator'))).body.data;
  await waitFor(async () => (await pending()).length === 1);
  await publish('ava', { topic: 'cron.ava.tick', payload: { content: 'x' } });
  await waitFor(() => ava.topics.includes('cron.ava.tick'));
  board.write('keys.yaml', `keys:\n${scoped('ava-b')}${scoped('max')}`);
  await ava.over;
  expect(await asking).toBe('cut off');
  expect((await publish('ava', { topic: 'cron.ava.tick', payload: {} })).status).toBe(401);
  await publish('ava-b', { topic: 'cron.ava-b.tick', payload: { content: 'x' } });
  await waitFor(
    () => rival.topics.includes('cron.ava-b.tick') && operator.topics.includes('cron.ava-b.tick'),
  );
  board.write('keys.yaml', `keys:\n${scoped('ava-b').replace('cron.ava-b.#, schedule.#', 'cron.ava-b.x')}`);
  await rival.over;
  const narrow = await stream('ava-b');
  await publish('ava-b', { topic: 'cron.ava-b.tock', payload: { content: 'x' } });
  await publish('ava-b', { topic: 'cron.ava-b.x', payload: { content: 'x' } });
  await waitFor(() => narrow.topics.includes('cron.ava-b.x'));
  expect(narrow.topics).not.toContain('cron.ava-b.tock');
  board.write('keys.yaml', 'keys: []\n');
  await narrow.over;
  expect(operator.topics).toContain('cron.ava-b.x');
});

it('what was open without a key ends with the first key', async () => {
  const open = await startSwitchboard({ env: { KEY_OF_AVA: 'ava-key' } });
  const response = await open.fetch('/api/bus/stream');
  open.write('keys.yaml', `keys:\n${scoped('ava')}`);
  const read = async () => {
    for await (const _ of readSse(response.body!));
  };
  await read().catch(() => undefined);
  expect((await open.call('/api/bus/history')).status).toBe(401);
  await open.stop();
});
