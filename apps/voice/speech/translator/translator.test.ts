import { createServer } from 'node:net';
import { freePort, startSidecarServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { json, startVoice } from '../../voice.suite.ts';
import { decodeSound } from '../audio/decode.ts';
import { lengthOf } from '../audio/samples.ts';

/** Two seconds of a tone, cut at odd places. */
function speechChunks(): Uint8Array[] {
  const samples = Int16Array.from({ length: 88_200 }, (_, index) => 8000 * Math.sin(index / 20));
  const bytes = new Uint8Array(samples.buffer);
  return Array.from({ length: Math.ceil(bytes.length / 9999) }, (_, index) =>
    bytes.subarray(index * 9999, (index + 1) * 9999),
  );
}

async function start(env: Record<string, string> = {}, files: Record<string, string> = {}) {
  const sidecar = await startSidecarServer({ speech: speechChunks() });
  onTestFinished(() => sidecar.stop());
  const port = await freePort();
  const voice = await startVoice({
    env: { SIDECAR_URL: sidecar.url, TRANSLATOR_PORT: String(port), ...env },
    files,
  });
  const speak = async (body: object, headers: Record<string, string> = {}) => {
    const init = json(body);
    const response = await fetch(`http://127.0.0.1:${port}/v1/audio/speech`, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...headers },
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      bytes,
      text: new TextDecoder().decode(bytes),
    };
  };
  return { sidecar, voice, speak };
}

describe('speech translator', () => {
  it('comes as wav, pcm and mp3 of the same sound [V056]', async () => {
    const { speak, sidecar } = await start();
    const wav = await speak({ model: 'any', input: 'Hello', voice: 'ada', response_format: 'wav' });
    expect([wav.status, wav.type]).toEqual([200, 'audio/wav']);
    expect(lengthOf(await decodeSound(wav.bytes, 10))).toBe(2);
    const pcm = await speak({ input: 'Hello', voice: 'ada', response_format: 'pcm' });
    expect(Buffer.from(pcm.bytes)).toEqual(Buffer.concat(speechChunks()));
    const mp3 = await speak({ input: 'Hello', voice: 'ada', response_format: 'mp3' });
    expect(mp3.type).toBe('audio/mpeg');
    const sound = await decodeSound(mp3.bytes, 10);
    expect(sound.sampleRate).toBe(44_100);
    expect(lengthOf(sound)).toBeGreaterThan(1.95);
    expect(Math.max(...(sound.channels[0] ?? []))).toBeGreaterThan(0.2);
    expect(sidecar.requests.map(({ body }) => body.reference_id)).toEqual(['ada', 'ada', 'ada']);
  });

  it('uses the configured voice for "default", which is the default [V043]', async () => {
    const { speak, sidecar } = await start({ SIDECAR_REFERENCE_ID: 'house' });
    await speak({ input: 'Hello', response_format: 'pcm' });
    expect(sidecar.requests[0]?.body.reference_id).toBe('house');
  });

  it('asks for the key of a user where there is a roster', async () => {
    const { speak } = await start({}, { 'users.yaml': 'users: [{id: a, api_key: key-a}]' });
    expect(JSON.parse((await speak({ input: 'x' })).text).error).toMatchObject({ code: 'invalid_api_key' });
    expect(
      (await speak({ input: 'x', response_format: 'pcm' }, { authorization: 'Bearer key-a' })).status,
    ).toBe(200);
  });

  it.each([{}, { input: ' ' }, { input: 'x', response_format: 'opus' }, { input: 'x'.repeat(4097) }])(
    'refuses a request that lacks or exceeds something',
    async (body) => {
      const { speak } = await start();
      const answer = await speak(body);
      expect([answer.status, JSON.parse(answer.text).error.type]).toEqual([400, 'invalid_request_error']);
    },
  );

  it('tells that the sidecar fails, before any sound', async () => {
    const { speak, sidecar } = await start();
    sidecar.faults.set('/v1/tts', 500);
    for (const response_format of ['wav', 'pcm', 'mp3']) {
      const answer = await speak({ input: 'x', response_format });
      expect([answer.status, JSON.parse(answer.text).error.message]).toEqual([
        502,
        'The sidecar answered 500 to /v1/tts.',
      ]);
    }
  });

  it('frees the sidecar when the listener leaves', async () => {
    const { sidecar, voice } = await start();
    sidecar.faults.set('/v1/tts', 'stall');
    const controller = new AbortController();
    const { port } = new URL(`http://127.0.0.1:${voice.voice.context.options.translatorPort}`);
    const asked = fetch(`http://127.0.0.1:${port}/v1/audio/speech`, {
      ...json({ input: 'x' }),
      signal: controller.signal,
    });
    await vi.waitFor(() => expect(sidecar.requests).toHaveLength(1));
    controller.abort();
    await expect(asked).rejects.toThrow();
    await vi.waitFor(() => expect(sidecar.requests[0]?.abandoned).toBe(true));
  });

  it('is off unless a port is set, and names the variable when it is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await vi.waitFor(() => expect(taken.address()).not.toBeNull());
    const { port } = taken.address() as { port: number };
    await expect(startVoice({ env: { TRANSLATOR_PORT: String(port) } })).rejects.toThrow('TRANSLATOR_PORT');
  });
});
