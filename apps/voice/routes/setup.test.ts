import { startSpeechServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { encodeWav } from '../speech/audio/wav.ts';
import { startVoice } from '../voice.suite.ts';

it('lists voices, lets one be heard, and tells what a microphone test understood', async () => {
  const samples = new Uint8Array(Int16Array.from({ length: 2400 }, (_, at) => at).buffer);
  const speech = await startSpeechServer({ speech: [samples], transcript: 'good morning' });
  onTestFinished(() => speech.stop());
  const backends = {
    TTS_BACKEND: 'compat',
    TTS_COMPAT_URL: speech.url,
    STT_BACKEND: 'compat',
    STT_URL: speech.url,
  };
  const { get, post, ask, url } = await startVoice({ env: backends });

  const { body } = await get('/operator/setup/speech');
  expect(body).toMatchObject({ voice: 'af_heart', language: 'a', backend: 'compat' });
  expect(body.voices).toContainEqual({ id: 'bm_george', title: 'George (male)', language: 'b' });
  expect(body.languages).toContainEqual({ id: 'f', title: 'French' });

  const said = await fetch(`${url}/operator/setup/speech/say`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'Hello.', voice: 'af_heart', lang: 'a' }),
  });
  const wav = Buffer.from(await said.arrayBuffer());
  expect([said.headers.get('content-type'), wav.subarray(0, 4).toString()]).toEqual(['audio/wav', 'RIFF']);
  expect(wav.length).toBe(44 + samples.length);
  expect((await post('/operator/setup/speech/say', { text: ' ' })).status).toBe(422);

  const form = new FormData();
  form.append('audio', new Blob([new Uint8Array(encodeWav(samples, 16_000))]), 'test.wav');
  expect((await ask('/operator/setup/speech/hear', { method: 'POST', body: form })).body).toEqual({
    text: 'good morning',
  });
  speech.fault = 500;
  const failed = await ask('/operator/setup/speech/hear', { method: 'POST', body: form });
  expect(failed).toMatchObject({
    status: 502,
    body: { detail: expect.stringContaining('The speech test failed') },
  });
});
