import { anonymous } from '@trunkline/identity';
import type { Peers } from '@trunkline/service';
import { callersOf, startModelServer, startSidecarServer, type TestCaller } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { encodeWav } from './speech/audio/wav.ts';
import { type Parts, startVoice } from './voice.suite.ts';

const peers: Peers = {
  serviceToken: 'secret-between-services',
  agentName: 'agent',
  find: () => undefined,
  namesWithKey: () => [],
  onChange: () => undefined,
};
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
    await say(other, 'what did she say', task?.contextId);
    expect(JSON.stringify(model.chats().at(-1)?.messages)).not.toContain('my secret plan');
  }
  expect((await rpc(who.operator, 'tasks/get', { id: task?.id })).result?.id).toBe(task?.id);
  await say(who.ava, 'once more', task?.contextId);
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('my secret plan');
  const open = await say(who.nobody, 'for all to see');
  await say(who.bob, 'and then', open?.contextId);
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('for all to see');
});
