import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { anonymous } from '@trunkline/identity';
import {
  callersOf,
  noPeers,
  startModelServer,
  startSidecarServer,
  type TestCaller,
  waitFor,
} from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { encodeWav } from './speech/audio/wav.ts';
import { openVoiceDatabase } from './store/database.ts';
import { type Parts, startVoice } from './voice.suite.ts';

const peers = noPeers();
const roster =
  'users: [{id: ada, api_key: ada, role: admin}, {id: ben, api_key: ben}, {id: cleo, api_key: cleo}]';

it('offers a cloned voice to the user whose it is and to admins; for others it is not there', async () => {
  const sidecar = await startSidecarServer();
  onTestFinished(() => sidecar.stop());
  const voice = await startVoice({ env: { SIDECAR_URL: sidecar.url }, files: { 'users.yaml': roster } });
  const clone = (slug: string, key: string) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ slug, transcript: 'Hoo hoo.' })) form.set(name, value);
    form.set('audio', new Blob([Uint8Array.from(encodeWav(new Uint8Array(2 * 8000 * 12), 8000))]), 'me.wav');
    return voice.ask('/api/voice/clone', { method: 'POST', body: form }, key);
  };
  expect((await clone('of-ben', 'ben')).body).toMatchObject({ ok: true });
  expect((await clone('for-all', 'ada')).body).toMatchObject({ ok: true });
  for (const [key, isSeen] of [
    ['ada', true],
    ['ben', true],
    ['cleo', false],
  ] as const) {
    const references = (await voice.get('/api/voice/references', key)).body.references;
    expect([key, references]).toEqual([key, expect.arrayContaining(['for-all'])]);
    expect(JSON.stringify(references).includes('of-ben')).toBe(isSeen);
    expect(JSON.stringify((await voice.get('/api/skills', key)).body).includes('of-ben')).toBe(isSeen);
    const chosen = (slug: string) => voice.post('/api/skills', { slug }, key);
    const [there, missing] = [await chosen('of-ben'), await chosen('no-such')];
    if (isSeen) expect(there.body).toEqual({ active: 'of-ben' });
    else expect(JSON.stringify(there.body).replace('of-ben', 'no-such')).toBe(JSON.stringify(missing.body));
  }
  // What each of them chose is their own.
  expect((await voice.get('/api/skills', 'cleo')).body.active).toBe('default');
});

it('keeps written tasks and their conversations apart, and those of nobody open to all', async () => {
  const model = await startModelServer({ script: () => 'Heard.' });
  onTestFinished(() => model.stop());
  const env = { LLM_URL: model.url, LLM_MODEL: 'm', TRUNKLINE_OPEN: '0' };
  const voice = await startVoice({ env, peers });
  const who = callersOf({ url: voice.url, home: voice.home, serviceToken: peers.serviceToken });
  const rpc = async (caller: TestCaller, method: string, params: object) =>
    (await caller('POST /a2a', { jsonrpc: '2.0', id: 1, method, params })).json<Parts>();
  const say = async (caller: TestCaller, text: string, contextId?: unknown) => {
    const message = { role: 'user', parts: [{ kind: 'text', text }], ...(contextId ? { contextId } : {}) };
    return (await rpc(caller, 'message/send', { message })).result;
  };
  const task = await say(who.ava, 'my secret plan');
  for (const other of [who.bob, who.nobody, who.as({ ...anonymous, via: ['agent'] })]) {
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/resubscribe'])
      expect([method, (await rpc(other, method, { id: task?.id })).error?.code]).toEqual([method, -32001]);
    // The second is the key under which her conversation is stored.
    for (const contextId of [task?.contextId, JSON.stringify(['person:voice:ava', task?.contextId])]) {
      await say(other, 'what did she say', contextId);
      const { messages } = model.chats().at(-1) ?? {};
      expect(JSON.stringify(messages)).toContain('what did she say');
      expect(JSON.stringify(messages)).not.toContain('my secret plan');
    }
  }
  expect((await rpc(who.operator, 'tasks/get', { id: task?.id })).result?.id).toBe(task?.id);
  await say(who.ava, 'once more', task?.contextId);
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('my secret plan');
  const open = await say(who.nobody, 'for all to see');
  await say(who.bob, 'and then', open?.contextId);
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('for all to see');
});

it('counts what each person keeps: recordings as long as their voice is there, and written conversations', async () => {
  const [sidecar, model] = [await startSidecarServer(), await startModelServer({ script: () => 'Heard.' })];
  onTestFinished(() => Promise.all([sidecar.stop(), model.stop()]).then(() => undefined));
  const env = {
    SIDECAR_URL: sidecar.url,
    LLM_URL: model.url,
    LLM_MODEL: 'm',
    TRUNKLINE_OPEN: '0',
    QUOTA_MB: '1',
  };
  const setup = { env, files: { 'users.yaml': roster }, peers };
  const first = await startVoice(setup);
  const clone = (voice: typeof first, slug: string, key: string) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ slug, transcript: 'Hoo hoo.' })) form.set(name, value);
    const sound = encodeWav(new Uint8Array(2 * 12_000 * 29), 12_000);
    form.set('audio', new Blob([Uint8Array.from(sound)]), 'me.wav');
    return voice.ask('/api/voice/clone', { method: 'POST', body: form }, key);
  };
  const say = async ({ url, home }: typeof first, who: 'ava' | 'bob', kilobytes: number) => {
    const text = 'x'.repeat(kilobytes * 1024);
    const message = { role: 'user', parts: [{ kind: 'text', text }], contextId: 'talk' };
    const caller = callersOf({ url, home, serviceToken: peers.serviceToken })[who];
    const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
    return (await caller('POST /a2a', body)).text;
  };
  expect((await clone(first, 'of-ben', 'ben')).body).toMatchObject({ ok: true });
  expect(await say(first, 'ava', 400)).toContain('Heard.');
  await first.stop();
  // A day later: what was uploaded then no longer counts for the day.
  const database = openVoiceDatabase(join(first.home, 'voice'));
  database.exec('DELETE FROM uploads');
  database.close();

  const voice = await startVoice({ ...setup, home: first.home });
  expect(await say(voice, 'ava', 400)).toMatch(/keeps 0\.\d MB here and may keep 1\.0 MB \(QUOTA_MB\)/);
  expect(await say(voice, 'bob', 400)).toContain('Heard.');
  const refused = await clone(voice, 'second', 'ben');
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    507,
    expect.stringMatching(/voice:ben keeps 0\.7 MB .*QUOTA_MB.*delete a voice of yours/),
  ]);
  expect((await clone(voice, 'of-cleo', 'cleo')).body).toMatchObject({ ok: true });
  rmSync(join(voice.config, 'skills/of-ben.yaml'));
  await voice.post('/api/skills/reload', {}, 'ada');
  await waitFor(async () => (await clone(voice, 'third', 'ben')).status === 200);
});
