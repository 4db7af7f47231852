import { type ModelScript, startModelServer, startSidecarServer, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SyntheticCaller } from '../cases/harness/caller.suite.ts';
import { defaultUser } from '../users/user.ts';
import { startVoice, type TestVoice } from '../voice.suite.ts';
import { steadyClock } from './clock.ts';

/** The whole service with a sidecar that hums for half a second whatever it is to say. */
async function start(script: ModelScript, home?: string) {
  const hum = new Uint8Array(44_100).map((_, index) => (index * 7) % 256);
  const sidecar = await startSidecarServer({ speech: [hum] });
  const model = await startModelServer({ script });
  onTestFinished(() => sidecar.stop());
  onTestFinished(() => model.stop());
  const env = { SIDECAR_URL: sidecar.url, LLM_URL: model.url, LLM_MODEL: 'main-model' };
  const voice = await startVoice({ env, ...(home === undefined ? {} : { home }) });
  return { voice, model, sidecar };
}

function connect({ voice }: TestVoice): SyntheticCaller {
  const caller = new SyntheticCaller('line-1', steadyClock.now);
  voice.conversations.begin(caller, defaultUser);
  const timer = setInterval(() => caller.pass(), 5);
  onTestFinished(() => clearInterval(timer));
  return caller;
}

const patience = { timeoutMs: 40_000 };

/** A slow answer may be preceded by a sign that one was heard. */
const heard = (caller: SyntheticCaller, words: string) =>
  waitFor(() => caller.heard().endsWith(words), patience);

const silent = (caller: SyntheticCaller) =>
  waitFor(() => caller.received.at(-1)?.message.type === 'bot-stopped-speaking', patience);

const write = (caller: SyntheticCaller, content: string) =>
  caller.tell({ type: 'send-text', data: { content } });

describe('a call to the service', () => {
  it('is answered by the persona, counted and timed [V059][V060]', async () => {
    const { voice, model, sidecar } = await start(['Hello Ada.']);
    const caller = connect(voice);
    write(caller, 'I am Ada.');
    await heard(caller, 'Hello Ada.');
    expect(model.chats()[0]).toMatchObject({ model: 'main-model', temperature: 0.7, max_tokens: 150 });
    expect(sidecar.requests.at(-1)?.body).toMatchObject({ text: 'Hello Ada.' });
    const { body } = await voice.get('/api/metrics');
    expect(body).toMatchObject({ sessions_total: 1, sessions_active: 1, turn_latency: { turns: 1 } });
    expect(body.turn_latency?.p95?.first_packet_ms).toBeGreaterThanOrEqual(
      Number(body.turn_latency?.p50?.first_token_ms),
    );
    const prometheus = await (await fetch(`${voice.url}/metrics`)).text();
    expect(prometheus).toContain('voice_turn_latency_seconds_count{step="first_packet"} 1');
    caller.close('done');
    expect((await voice.get('/api/metrics')).body).toMatchObject({ sessions_total: 1, sessions_active: 0 });
  });

  it('hears what agents push, at the next silence, and what they pushed before it [V006][V115]', async () => {
    const { voice } = await start([]);
    await voice.post('/a2a/callback', { from: 'Ada', text: 'The report is done.' });
    const caller = connect(voice);
    await heard(caller, 'done.');
    await silent(caller);
    const { body } = await voice.post('/a2a/callback', { from: 'Scout', text: 'Your parcel is here.' });
    expect(body).toEqual({ ok: true, delivered: true });
    await heard(caller, 'here.');
    expect(caller.heard()).toBe('Ada says: The report is done. Scout says: Your parcel is here.');
  });

  it('goes on after a restart where the conversation was', async () => {
    const first = await start(['Hello Ada.']);
    const caller = connect(first.voice);
    write(caller, 'I am Ada.');
    await heard(caller, 'Hello Ada.');
    await silent(caller);
    caller.close('done');
    await first.voice.stop();
    const second = await start(['You are Ada.'], first.voice.home);
    const again = connect(second.voice);
    write(again, 'Who am I?');
    await heard(again, 'You are Ada.');
    const [chat] = second.model.chats();
    expect(chat?.messages.map(({ role, content }) => `${role}: ${content}`).slice(1)).toEqual([
      'user: I am Ada.',
      'assistant: Hello Ada.',
      'user: Who am I?',
    ]);
  });

  it('uses the tools of the persona, and counts them', async () => {
    const { voice } = await start([
      { toolCalls: [{ name: 'calculator', arguments: { expression: '17*23' } }] },
      'It is 391.',
    ]);
    const caller = connect(voice);
    write(caller, 'What is 17 times 23?');
    await heard(caller, '391.');
    const stopped = caller.received.find(({ message }) => message.type === 'llm-function-call-stopped');
    expect(stopped?.message.data).toMatchObject({ function_name: 'calculator', cancelled: false });
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({ calculator: 1 });
  });
});
