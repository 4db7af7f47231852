import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { anonymous, operatorAccess } from '@trunkline/identity';
import type { Service } from '@trunkline/service';
import { openDatabase } from '@trunkline/storage';
import {
  type Answer,
  callersOf,
  noPeers,
  startModelServer,
  type TestCaller,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startResearch } from './fixtures/service.ts';
import { DocumentStore } from './store/documents.ts';
import { migrations } from './store/schema.ts';

const home = temporaryDirectory();
const peers = noPeers();
let service: Service;
let who: ReturnType<typeof callersOf>;

beforeAll(async () => {
  await storeBeforeOwners();
  service = await startResearch(home.path, { TRUNKLINE_OPEN: '0', QUOTA_MB: '1' }, [], peers);
  who = callersOf({ url: service.url, home: home.path, serviceToken: peers.serviceToken });
});
afterAll(async () => {
  await service.stop();
  home.remove();
});

/** A chat and a file of a version that knew no owners. */
async function storeBeforeOwners(): Promise<void> {
  const database = openDatabase(join(home.path, 'research', 'research.db'), {
    migrations: migrations.slice(0, 7),
  });
  database.exec(`
    INSERT INTO conversations VALUES ('old-chat', '[{"role":"user","content":"an old question"}]', NULL, 1);
    INSERT INTO documents (kind, url, title, type, hash, bytes, added_at) VALUES ('file', 'old.txt', 'old.txt', 'text/plain', 'x', 1, 1);`);
  database.close();
}

function fileOf(name: string, text: string): FormData {
  const form = new FormData();
  form.append('file', new File([text], name));
  return form;
}

interface Thing {
  create(caller: TestCaller): Promise<string>;
  list: string;
  /** What is done with the thing, `ID` in place of its id; the last one may remove it. */
  uses: readonly (readonly [request: string, body?: unknown])[];
}

const things: Record<string, Thing> = {
  job: {
    async create(ask) {
      const answer = await ask('POST /api/research/deep', { query: 'tidal power', plan: 'review' });
      return answer.json<{ researchId: string }>().researchId;
    },
    list: 'GET /api/research',
    uses: [
      ['GET /api/research/deep/ID/status'],
      ['GET /api/research/deep/ID/evidence'],
      ['GET /api/research/deep/ID/export?format=json'],
      ['GET /api/research/deep/ID/questions'],
      ['POST /api/research/deep/ID/questions', { question: 'Why so?' }],
      ['POST /api/research/deep/ID/share'],
      ['DELETE /api/research/deep/ID/share'],
      ['POST /api/research/deep/ID/rerun'],
      ['POST /api/research/deep/ID/resume'],
      ['DELETE /api/research/deep/ID'],
      ['POST /api/research/deep/ID/plan', { dimensions: ['Costs'] }],
      // The events, which end now that the job is cancelled.
      ['GET /api/research/deep/ID'],
    ],
  },
  chat: {
    async create(ask) {
      const id = `chat-${Math.random()}`;
      await ask('POST /api/chat', { id, messages: [{ role: 'user', content: 'my secret plan' }] });
      return id;
    },
    list: 'GET /api/chat',
    uses: [['GET /api/chat/ID']],
  },
  file: {
    async create(ask) {
      const answer = await ask('POST /api/files', fileOf('plans.txt', 'The vault opens on Monday.'));
      return answer.json<{ files: { id: string }[] }>().files[0]?.id ?? '';
    },
    list: 'GET /api/files',
    uses: [['GET /api/files/ID'], ['DELETE /api/files/ID']],
  },
};

const listed = (answer: Answer) =>
  (Object.values(answer.json<Record<string, { id?: string; researchId?: string }[]>>())[0] ?? []).map(
    ({ id, researchId }) => id ?? researchId,
  );

describe.each(Object.entries(things))('a %s', (_, { create, list, uses }) => {
  it('of one person is not there for another, nor for nobody', async () => {
    const id = await create(who.ava);
    for (const other of [who.bob, who.nobody]) {
      expect(listed(await other(list))).not.toContain(id);
      for (const [request, body] of uses) {
        const { status, text } = await other(request.replace('ID', id), body);
        const missing = await other(request.replace('ID', '999999'), body);
        expect({ request, status, text }).toEqual({ request, status: 404, text: missing.text });
      }
    }
    expect(listed(await who.ava(list))).toContain(id);
    expect(listed(await who.operator(list))).toContain(id);
    for (const caller of [who.operator, who.ava])
      for (const [request, body] of uses.slice(0, 1))
        expect((await caller(request.replace('ID', id), body)).status).toBe(200);
    for (const [request, body] of uses)
      expect([request, (await who.ava(request.replace('ID', id), body)).status]).not.toContain(404);
  });

  it('of nobody is there for everybody', async () => {
    const id = await create(who.nobody);
    for (const caller of [who.ava, who.nobody, who.operator])
      expect(listed(await caller(list))).toContain(id);
    for (const [request, body] of uses)
      expect([request, (await who.bob(request.replace('ID', id), body)).status]).not.toContain(404);
  });
});

it('keeps what was stored before there were owners, for everybody', async () => {
  expect(listed(await who.ava('GET /api/chat'))).toContain('old-chat');
  expect((await who.bob('GET /api/chat/old-chat')).text).toContain('an old question');
  expect((await who.nobody('GET /api/files')).text).toContain('old.txt');
});

it('lets two people have a chat under the same id, and the same file', async () => {
  for (const ask of [who.ava, who.bob])
    await ask('POST /api/chat', { id: 'same', messages: [{ role: 'user', content: `I am ${ask.name}` }] });
  const messages = { messages: [{ role: 'user', content: 'Bob only' }] };
  await who.bob('POST /api/chat', { id: 'same', ...messages });
  expect((await who.ava('GET /api/chat/same')).text).not.toContain('Bob only');
  expect((await who.bob('GET /api/chat/same')).text).toContain('Bob only');
  const upload = (ask: TestCaller) => ask('POST /api/files', fileOf('twice.txt', 'Twice the same.'));
  const [first, second, again] = [await upload(who.ava), await upload(who.bob), await upload(who.ava)];
  expect(first.text).not.toBe(second.text);
  expect(again.text).toBe(first.text);
});

it('searches the files of the person who asks, and those of nobody', async () => {
  await who.ava('POST /api/files', fileOf('ava.txt', 'The walrus sleeps in Ava’s bath.'));
  await who.bob('POST /api/files', fileOf('bob.txt', 'The walrus sleeps in Bob’s bath.'));
  await who.nobody('POST /api/files', fileOf('all.txt', 'The walrus sleeps in the sea.'));
  const found = async (ask: TestCaller) =>
    (await ask('POST /api/chat', { messages: [{ role: 'user', content: 'search walrus sleeps' }] })).text;
  const ava = await found(who.ava);
  expect([ava.includes('ava.txt'), ava.includes('all.txt'), ava.includes('bob.txt')]).toEqual([
    true,
    true,
    false,
  ]);
  const nobody = await found(who.nobody);
  expect([nobody.includes('ava.txt'), nobody.includes('all.txt')]).toEqual([false, true]);
  expect(await found(who.operator)).not.toContain('ava.txt');
});

it('lets each person keep so many megabytes of files, and the operator all', async () => {
  const upload = (ask: TestCaller, name: string) =>
    ask('POST /api/files', fileOf(name, `${name} ${'words '.repeat(100_000)}`));
  expect([(await upload(who.bob, 'one.txt')).status, (await upload(who.ava, 'one.txt')).status]).toEqual([
    201, 201,
  ]);
  const refused = await upload(who.bob, 'two.txt');
  expect([refused.status, refused.text]).toEqual([507, expect.stringMatching(/keeps 0.6 MB.*QUOTA_MB/)]);
  for (const name of ['one.txt', 'two.txt']) expect((await upload(who.operator, name)).status).toBe(201);
});

it('lets each person keep so many megabytes of chats', async () => {
  const chat = (ask: TestCaller, id: string) =>
    ask('POST /api/chat', { id, messages: Array(4).fill({ role: 'user', content: 'word '.repeat(30_000) }) });
  expect((await chat(who.bob, 'long-one')).status).toBe(200);
  const refused = await chat(who.bob, 'long-two');
  expect([refused.status, refused.text]).toEqual([507, expect.stringMatching(/keeps 0.6 MB.*QUOTA_MB/)]);
  expect((await chat(who.bob, 'long-one')).status).toBe(200);
  expect((await chat(who.ava, 'long-one')).status).toBe(200);
  expect((await who.bob('DELETE /api/chat/long-one')).status).toBe(204);
  expect((await who.bob('GET /api/chat/long-one')).status).toBe(404);
  expect((await who.ava('GET /api/chat/long-one')).status).toBe(200);
  await waitFor(async () => (await chat(who.bob, 'long-two')).status === 200);
});

it('lets one person have twenty jobs under way, and others theirs meanwhile', async () => {
  const held = Promise.withResolvers<string>();
  const model = await startModelServer({ script: () => held.promise });
  const place = temporaryDirectory();
  const env = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm', TRUNKLINE_OPEN: '0' };
  const other = await startResearch(place.path, env, [], peers);
  onTestFinished(async () => {
    held.resolve('Done.');
    await other.stop();
    await model.stop();
    place.remove();
  });
  const { ava, bob } = callersOf({ url: other.url, home: place.path, serviceToken: peers.serviceToken });
  const begin = (ask: TestCaller) => ask('POST /api/research/deep', { query: 'How do tides affect fish?' });
  for (let count = 0; count < 20; count += 1) expect((await begin(ava)).status).toBe(200);
  const refused = await begin(ava);
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('20 research jobs of yours')]);
  expect((await begin(bob)).status).toBe(200);
  const { jobs } = (await ava('GET /api/research')).json<{ jobs: { researchId: string }[] }>();
  const id = jobs[0]?.researchId;
  expect((await ava(`DELETE /api/research/${id}`)).status).toBe(409);
  await ava(`DELETE /api/research/deep/${id}`);
  await waitFor(async () => (await begin(ava)).status === 200);
  expect((await bob(`DELETE /api/research/${id}`)).status).toBe(404);
  await waitFor(async () => (await ava(`DELETE /api/research/${id}`)).status === 204);
  expect((await ava(`GET /api/research/deep/${id}/status`)).status).toBe(404);
  expect((await ava(`DELETE /api/research/${id}`)).status).toBe(404);
});

it('looks owners up by an index', () => {
  const database = openDatabase(join(home.path, 'copy.db'), { migrations });
  const plan = (sql: string) =>
    database
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join();
  const own = "owner IN ('anonymous', 'person:voice:ava')";
  expect(plan(`SELECT * FROM jobs WHERE ${own}`)).toContain('jobs_by_owner');
  expect(plan(`SELECT * FROM conversations WHERE ${own}`)).toContain('conversations_by_owner');
  expect(plan(`SELECT * FROM documents WHERE kind = 'file' AND ${own}`)).toContain('USING INDEX');
  expect(new DocumentStore(database).files(anonymous)).toEqual([]);
  database.close();
});

it('breaks off the job of somebody whose account was disabled, and says so', async () => {
  const stalling = await startModelServer();
  stalling.enqueue({ fault: 'stall' });
  const own = temporaryDirectory();
  const environment = {
    TRUNKLINE_OPEN: '0',
    LLM_GATEWAY_URL: stalling.url,
    LLM_API_KEY: 'key',
    LLM_MODEL: 'm',
  };
  const accounts = openAccounts({ home: own.path, logger: console });
  const { id: accountId } = accounts.create({ name: 'Eve', role: 'member' });
  const { key } = accounts.createKey(accountId, 'test');
  const operator = { 'x-operator-key': operatorAccess(own.path).secrets[0] ?? '' };
  const before = await startResearch(own.path, environment);
  const started = await fetch(`${before.url}/api/research/deep`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'tidal power' }),
  });
  const { researchId } = (await started.json()) as { researchId: string };
  await waitFor(() => stalling.chats().length > 0);
  await before.stop();
  accounts.update(accountId, { disabled: true });
  const after = await startResearch(own.path, environment);
  onTestFinished(async () => {
    await after.stop();
    await stalling.stop();
    accounts.close();
    own.remove();
  });
  const status = async () =>
    (await fetch(`${after.url}/api/research/deep/${researchId}/status`, { headers: operator })).json();
  await waitFor(async () => ((await status()) as { status: string }).status !== 'running');
  expect(await status()).toMatchObject({
    status: 'error',
    error: expect.stringContaining('Stopped: The account Eve is disabled'),
  });
});

it('looks every fifteen seconds whether those who ordered research still may', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const stalling = await startModelServer();
  stalling.enqueue({ fault: 'stall' });
  const own = temporaryDirectory();
  const accounts = openAccounts({ home: own.path, logger: console });
  const model = { LLM_GATEWAY_URL: stalling.url, LLM_API_KEY: 'key', LLM_MODEL: 'm' };
  const running = await startResearch(own.path, { TRUNKLINE_OPEN: '0', ...model });
  onTestFinished(async () => {
    vi.useRealTimers();
    await running.stop();
    await stalling.stop();
    accounts.close();
    own.remove();
  });
  const { id } = accounts.create({ name: 'Mallory', role: 'member' });
  const authorization = `Bearer ${accounts.createKey(id, 'test').key}`;
  const started = await fetch(`${running.url}/api/research/deep`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'tidal power' }),
  });
  const { researchId } = (await started.json()) as { researchId: string };
  await waitFor(() => stalling.chats().length > 0);
  const operator = { 'x-operator-key': operatorAccess(own.path).secrets[0] ?? '' };
  const status = async () => {
    const answer = await fetch(`${running.url}/api/research/deep/${researchId}/status`, {
      headers: operator,
    });
    return (await answer.json()) as { status: string; error?: string };
  };
  accounts.update(id, { disabled: true });
  vi.advanceTimersByTime(14_999);
  expect((await status()).status).toBe('running');
  vi.advanceTimersByTime(1);
  await waitFor(async () => (await status()).status !== 'running');
  expect((await status()).error).toContain('Stopped: The account Mallory is disabled');
});

it('lets people with an account in, as their role says', async () => {
  const accounts = openAccounts({ home: home.path, logger: console });
  const status = async (role: 'member' | 'guest', path: string) => {
    const { key } = accounts.createKey(accounts.create({ name: role, role }).id, 'test');
    return (await fetch(service.url + path, { headers: { authorization: `Bearer ${key}` } })).status;
  };
  expect([
    await status('member', '/api/files'),
    await status('guest', '/api/files'),
    await status('guest', '/v1/models'),
  ]).toEqual([200, 403, 200]);
  accounts.close();
});
