import { type ModelScript, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openVoiceDatabase } from '../store/database.ts';
import { startVoice, type TestVoice } from '../voice.suite.ts';
import type { Delivery } from './delivery.ts';
import { PendingStore } from './delivery-controller.ts';

/** A session that notes what it is to say, and says it when told. */
function connect(voice: TestVoice, userId = 'default') {
  const offered: Delivery[] = [];
  const close = voice.voice.sessions.open({
    id: crypto.randomUUID(),
    userId,
    offer: (delivery) => offered.push(delivery),
  });
  return { offered, close, words: () => offered.map(({ words }) => words) };
}

const stashed = { ok: true, delivered: false, reason: 'no active session', stashed: true };

describe('the callback', () => {
  it('says of each text that it came from outside, also after it has waited', async () => {
    const voice = await startVoice();
    const origins = [{ kind: 'callback', source: 'Scout' }];
    await voice.post('/a2a/callback', { text: 'a', from: 'Scout' });
    const session = connect(voice);
    await voice.post('/a2a/callback', { text: 'b', from: 'Scout' });
    expect(session.offered.map((delivery) => [delivery.text, delivery.origins])).toEqual([
      ['a', origins],
      ['b', origins],
    ]);
  });

  it('takes notifications of older versions for pushed ones', () => {
    const { path, remove } = temporaryDirectory();
    const database = openVoiceDatabase(path);
    onTestFinished(() => {
      database.close();
      remove();
    });
    const pending = new PendingStore(database);
    pending.add('ava', { from: 'Timer', text: 'b', policy: 'now' });
    database
      .prepare('INSERT INTO deliveries (user_id, sender, text, policy, created_at) VALUES (?, ?, ?, ?, ?)')
      .run('ava', 'Scout', 'a', 'now', 0);
    expect(pending.waitingFor('ava').map(({ origins }) => origins)).toEqual([
      [],
      [{ kind: 'callback', source: 'Scout' }],
    ]);
  });

  it('takes the text from any of its places [V006][V091]', async () => {
    const voice = await startVoice();
    const session = connect(voice);
    const parts = [{ kind: 'data', data: 1 }, { kind: 'text', text: 'b' }, { text: 'c' }];
    const bodies = [
      { text: 'a', from: 'Scout' },
      { result: { artifacts: [{ parts }, { parts: [{ text: 'd' }] }] } },
      { message: { parts } },
      { task: { artifacts: [{ parts }] }, agent: 'Ada' },
      { kind: 'task', artifacts: [{ parts }] },
      { kind: 'status-update', taskId: 't', status: { state: 'completed' }, artifact: { parts } },
      { kind: 'status-update', taskId: 't', status: { state: 'failed', message: { parts } } },
      { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_REJECTED', message: { parts } } } },
    ];
    for (const body of bodies)
      expect(await voice.post('/a2a/callback', body)).toMatchObject({
        status: 200,
        body: { ok: true, delivered: true },
      });
    expect(session.words()).toEqual([
      'Scout says: a',
      'An agent says: b c d',
      'An agent says: b c',
      'Ada says: b c',
      'An agent says: b c',
      'An agent says: b c',
      'An agent says: b c',
      'An agent says: b c',
    ]);
    expect(session.offered.every(({ policy }) => policy === 'next_silence')).toBe(true);
  });

  it.each([
    {},
    { text: ' ' },
    { text: 7 },
    { message: { parts: 'x' } },
    { result: { artifacts: [{}] } },
    { kind: 'status-update', status: { state: 'working', message: { parts: [{ text: 'half way' }] } } },
    { kind: 'artifact-update', artifact: { parts: [{ text: 'the first words' }] } },
    [],
    'null',
  ])('finds no text in %j', async (body) => {
    const voice = await startVoice();
    expect((await voice.post('/a2a/callback', body)).body).toEqual({
      ok: true,
      delivered: false,
      reason: 'no text',
    });
  });

  it.each(['', '{', 'hello'])('refuses %j as no JSON', async (body) => {
    const voice = await startVoice();
    expect(await voice.post('/a2a/callback', body)).toMatchObject({
      status: 400,
      body: { error: 'invalid json' },
    });
  });

  it('needs the shared token when there is one', async () => {
    const voice = await startVoice({ env: { A2A_AUTH_TOKEN: 'shared' } });
    expect(await voice.post('/a2a/callback', { text: 'x' })).toMatchObject({
      status: 401,
      body: { detail: 'unknown or missing api key' },
    });
    expect((await voice.post('/a2a/callback', { text: 'x' }, 'shared')).body).toEqual(stashed);
    const bearer = { method: 'POST', body: '{"text":"y"}', headers: { authorization: 'Bearer shared' } };
    expect((await voice.ask('/a2a/callback', bearer)).body).toEqual(stashed);
  });
});

describe('notifications that nobody hears', () => {
  it('are stored over a restart and spoken at the next connection, until they were heard [V115]', async () => {
    const first = await startVoice();
    expect((await first.post('/a2a/callback', { text: 'one', from: 'Ada' })).body).toEqual(stashed);
    expect((await first.post('/a2a/callback', { text: 'two', from: 'Ada' })).body).toEqual(stashed);
    await first.stop();
    const second = await startVoice({ home: first.home });
    const cut = connect(second);
    expect(cut.words()).toEqual(['Ada says: one', 'Ada says: two']);
    cut.offered[0]?.spoken();
    cut.close();
    const next = connect(second);
    expect(next.words()).toEqual(['Ada says: two']);
    next.offered[0]?.spoken();
    next.close();
    expect(connect(second).words()).toEqual([]);
  });

  it('are stored too when a session had them but the process died before it spoke', async () => {
    const first = await startVoice();
    connect(first);
    expect((await first.post('/a2a/callback', { text: 'one' })).body).toEqual({ ok: true, delivered: true });
    await first.stop();
    expect(connect(await startVoice({ home: first.home })).words()).toEqual(['An agent says: one']);
  });

  it('are not spoken twice by two sessions of one user', async () => {
    const voice = await startVoice();
    await voice.post('/a2a/callback', { text: 'one' });
    expect(connect(voice).words()).toHaveLength(1);
    expect(connect(voice).words()).toHaveLength(0);
  });

  it('stay with the user they are for', async () => {
    const files = { 'users.yaml': 'users: [{id: ada, api_key: a}, {id: ben, api_key: b}]' };
    const voice = await startVoice({ files, env: { A2A_USER_ID: 'ada' } });
    const ben = connect(voice, 'ben');
    expect((await voice.post('/a2a/callback', { text: 'for ada' })).body).toEqual(stashed);
    expect(ben.words()).toEqual([]);
    expect(connect(voice, 'ada').words()).toEqual(['An agent says: for ada']);
  });

  it('for no user that is known wait for whoever connects next', async () => {
    const voice = await startVoice({ files: { 'users.yaml': 'users: [{id: ada, api_key: a}]' } });
    await voice.post('/a2a/callback', { text: 'hello' });
    expect(connect(voice, 'ada').words()).toEqual(['An agent says: hello']);
  });

  it('are bounded: the newest hundred of a user stay', async () => {
    const voice = await startVoice();
    for (let index = 1; index <= 105; index += 1)
      voice.voice.delivery.deliver('default', { from: 'A', text: String(index), policy: 'now' });
    expect(connect(voice).words()).toHaveLength(100);
  });
});

describe('reports', () => {
  async function startWith(script: ModelScript) {
    const model = await startModelServer({ script });
    onTestFinished(() => model.stop());
    const voice = await startVoice({ env: { LLM_URL: model.url, LLM_MODEL: 'm' } });
    for (let number = 1; number <= 5; number += 1)
      await voice.post('/a2a/callback', { text: `# Report ${number}` });
    return { model, voice };
  }

  it('are summarized once, however often the caller comes back', async () => {
    const { model, voice } = await startWith(() => 'In short: fine.');
    const first = connect(voice);
    await waitFor(() => first.offered.length === 5);
    first.close();
    const second = connect(voice);
    await waitFor(() => second.offered.length === 5);
    expect(model.chats()).toHaveLength(5);
  });

  it('are read out from their beginning where no model is set up to summarize them', async () => {
    const voice = await startVoice({ env: { LLM_URL: 'http://127.0.0.1:9' } });
    const session = connect(voice);
    for (const number of ['one', 'two'])
      await voice.post('/a2a/callback', { text: `# Report\nThis is ${number}.`, from: 'Scout' });
    await waitFor(() => session.offered.length === 2);
    expect(session.words()).toEqual([
      'Scout says: This is one. There is more of it to read.',
      'Scout says: This is two. There is more of it to read.',
    ]);
  });

  it('are summarized one after the other', async () => {
    const { model, voice } = await startWith(() => ({ text: 'In short: fine.', dripMs: 20 }));
    const session = connect(voice);
    const counts: number[] = [];
    await waitFor(() => {
      counts.push(model.chats().length - session.offered.length);
      return session.offered.length === 5;
    });
    expect(Math.max(...counts)).toBe(1);
  });
});

describe('sessions', () => {
  it('are counted, and users once each [V059][V060][V125]', async () => {
    const voice = await startVoice();
    const close = connect(voice).close;
    connect(voice);
    expect((await voice.get('/api/metrics')).body).toMatchObject({ sessions_total: 2, sessions_active: 2 });
    expect((await voice.get('/healthz')).body.active_sessions).toBe(1);
    close();
    expect((await voice.get('/api/metrics')).body).toMatchObject({ sessions_total: 2, sessions_active: 1 });
  });
});
