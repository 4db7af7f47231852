import { readOptions } from '@trunkline/config';
import { type SidecarServer, startSidecarServer, startSpeechServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { voiceOptions } from '../../options.ts';
import { startPeer } from '../../peer.suite.ts';
import { encodeWav } from '../audio/wav.ts';
import { createCompatSynthesizer } from '../backends/compat.ts';
import { createSidecarSynthesizer } from '../backends/sidecar.ts';
import { createSidecarClient } from '../sidecar/client.ts';
import { loggerInto } from '../speech.suite.ts';
import { SpeechWarnings } from '../warnings.ts';
import type { SpeechRequest, Synthesizer } from './synthesizer.ts';

const samples = Int16Array.from({ length: 3000 }, (_, index) => index - 1500);
/** Cut in the middle of samples. */
const chunks = (): Uint8Array[] => {
  const bytes = new Uint8Array(samples.buffer);
  return [bytes.subarray(0, 777), bytes.subarray(777, 778), bytes.subarray(778)];
};

/** A whole file instead of bare samples, cut within its head. */
const file = (rate: number) => {
  const bytes = encodeWav(new Uint8Array(samples.buffer), rate);
  return [bytes.subarray(0, 9), bytes.subarray(9, 40), bytes.subarray(40)];
};

async function heard(synthesizer: Synthesizer, request: SpeechRequest) {
  const all: number[] = [];
  const rates = new Set<number>();
  for await (const frame of synthesizer.speak(request)) {
    all.push(...frame.samples);
    rates.add(frame.sampleRate);
  }
  return { all, rates: [...rates] };
}

function twoChannels(): Uint8Array {
  const bytes = encodeWav(new Uint8Array(400), 24_000);
  new DataView(bytes.buffer).setUint16(22, 2, true);
  return bytes;
}

const warnings = () => new SpeechWarnings(loggerInto([]));

describe('the sidecar as a voice', () => {
  const start = async (referenceId?: string, speech = chunks()) => {
    const server = await startSidecarServer({ speech, refuseUnknown: true });
    onTestFinished(() => server.stop());
    for (const id of ['house', 'ada']) server.references.set(id, { audio: new Uint8Array(), text: '' });
    const told = warnings();
    const sidecar = createSidecarClient({ url: server.url, timeoutMs: 60_000 });
    return {
      server,
      told,
      voice: createSidecarSynthesizer({ sidecar, sampleRate: 44_100, referenceId, warnings: told }),
    };
  };
  const references = (server: SidecarServer) => server.requests.map(({ body }) => body.reference_id);

  it('speaks at 44.1 kHz with the saved voice of the skill, prosody tags and all [V039] [V044]', async () => {
    const { server, voice } = await start('house');
    const { all, rates } = await heard(voice, { text: '[laughs] Hello.', voice: 'ada' });
    expect(all).toEqual([...samples]);
    expect(rates).toEqual([44_100]);
    expect(server.requests[0]?.body).toMatchObject({ text: '[laughs] Hello.', reference_id: 'ada' });
  });

  it('uses the configured voice where the skill names none [V043]', async () => {
    const { server, voice } = await start('house');
    await heard(voice, { text: 'Hello.' });
    expect(references(server)).toEqual(['house']);
  });

  it('speaks with its default where the skill names a voice that is not saved there, and says so', async () => {
    const { server, voice, told } = await start('house');
    expect((await heard(voice, { text: 'Hello.', voice: 'bf_emma' })).all).toEqual([...samples]);
    expect(references(server)).toEqual(['bf_emma', undefined, 'house']);
    expect(told.texts).toEqual(['The sidecar has no voice bf_emma; its default speaks instead.']);
  });

  it('is heard without a click, and at the right height, where it sends the head of a file', async () => {
    const { voice } = await start('house', file(22_050));
    const { all, rates } = await heard(voice, { text: 'Hello.' });
    expect(all).toEqual([...samples]);
    expect(rates).toEqual([22_050]);
  });

  it('is not heard where it answers with words instead of sound', async () => {
    const peer = await startPeer(() => ({ detail: 'the model is loading' }));
    const sidecar = createSidecarClient({ url: peer.url, timeoutMs: 60_000 });
    const voice = createSidecarSynthesizer({
      sidecar,
      sampleRate: 44_100,
      referenceId: undefined,
      warnings: warnings(),
    });
    await expect(heard(voice, { text: 'Hello.' })).rejects.toMatchObject({
      code: 'unreadable',
      message: 'The sidecar answered application/json to /v1/tts, and no sound.',
    });
  });

  it('does not blame the voice for another failure', async () => {
    const { server, voice, told } = await start();
    server.faults.set('/v1/tts', 500);
    await expect(heard(voice, { text: 'Hello.', voice: 'ada' })).rejects.toMatchObject({ code: 'refused' });
    expect(told.texts).toEqual([]);
  });
});

describe('a compatible endpoint as a voice', () => {
  const start = async (env: Record<string, string> = {}, voices?: string[], speech = chunks()) => {
    const server = await startSpeechServer({ speech, ...(voices && { voices }) });
    onTestFinished(() => server.stop());
    const options = readOptions(voiceOptions, { env: { TTS_COMPAT_URL: server.url, ...env } });
    const told = warnings();
    const voice = createCompatSynthesizer(options, told, 5000);
    return { server, told, voice };
  };

  it('gets the text without tags, the default model and voice, and a placeholder as key [V048] [V049] [V050] [V051] [V052]', async () => {
    const { server, voice } = await start();
    const { all, rates } = await heard(voice, { text: '[laughs] Hello.' });
    expect(all).toEqual([...samples]);
    expect(rates).toEqual([24_000]);
    expect(server.requests).toMatchObject([
      {
        path: '/v1/audio/speech',
        authorization: 'Bearer not-needed',
        fields: { model: 'tts-1', voice: 'alloy', input: 'Hello.', response_format: 'pcm' },
      },
    ]);
    expect(readOptions(voiceOptions, { env: {} }).ttsCompatUrl).toBe('https://api.openai.com/v1');
  });

  it('gets what is configured, and is taken at its word about the rate [V041]', async () => {
    const { server, voice } = await start({
      TTS_COMPAT_MODEL: 'm',
      TTS_COMPAT_VOICE: 'v',
      TTS_COMPAT_API_KEY: 'secret',
      TTS_COMPAT_SAMPLE_RATE: '16000',
    });
    expect((await heard(voice, { text: 'Hello.' })).rates).toEqual([16_000]);
    expect(server.requests[0]).toMatchObject({
      authorization: 'Bearer secret',
      fields: { model: 'm', voice: 'v' },
    });
  });

  it('is taken at the word of a file that it sends instead of samples', async () => {
    const { voice } = await start({}, undefined, file(16_000));
    const { all, rates } = await heard(voice, { text: 'Hello.' });
    expect(all).toEqual([...samples]);
    expect(rates).toEqual([16_000]);
  });

  it.each([
    ['an MP3 file', 'ID3 and then a lot of noise'],
    ['an OGG file', 'OggS and then a lot of noise'],
    ['a file of two channels', Buffer.from(twoChannels()).toString('latin1')],
    ['half the head of a file', Buffer.from(twoChannels().subarray(0, 30)).toString('latin1')],
  ])('is not heard where it sends %s', async (_what, bytes) => {
    const { voice } = await start({}, undefined, [Buffer.from(bytes, 'latin1')]);
    const { all, failure } = await heard(voice, { text: 'Hello.' }).then(
      ({ all }) => ({ all, failure: { code: 'unreadable' } }),
      (failure: unknown) => ({ all: [], failure }),
    );
    expect([all, failure]).toMatchObject([[], { code: 'unreadable' }]);
  });

  it('is not heard where it answers with words', async () => {
    const peer = await startPeer(() => ({ error: 'no such model' }));
    const { voice } = await start({ TTS_COMPAT_URL: peer.url });
    await expect(heard(voice, { text: 'Hello.' })).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining('TTS_COMPAT_URL'),
    });
  });

  it("speaks with the skill's voice, or with its own where it does not know it", async () => {
    const { server, voice, told } = await start({}, ['alloy', 'nova']);
    await heard(voice, { text: 'Hello.', voice: 'nova' });
    expect(told.texts).toEqual([]);
    await heard(voice, { text: 'Hello.', voice: 'night-owl' });
    expect(server.requests.map(({ fields }) => fields.voice)).toEqual(['nova', 'night-owl', 'alloy']);
    expect(told.texts).toEqual(['The speech endpoint has no voice night-owl; alloy speaks instead.']);
  });

  it.each([
    [401, 'refused', 'TTS_COMPAT_API_KEY'],
    [500, 'refused', 'TTS_COMPAT_URL'],
    ['cut', 'unreachable', 'TTS_COMPAT_URL'],
    ['cut after first', 'unreachable', 'TTS_COMPAT_URL'],
  ] as const)('fails in words that name the variable: %s', async (fault, code, variable) => {
    const { server, voice } = await start();
    server.fault = fault;
    const failure = await heard(voice, { text: 'Hello.' }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(variable) });
    expect(String(failure)).not.toContain('not-needed');
  });

  it('is left when the caller is', async () => {
    const { server, voice } = await start();
    server.fault = 'stall';
    const controller = new AbortController();
    const saying = heard(voice, { text: 'Hello.', signal: controller.signal });
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    controller.abort(new Error('barge-in'));
    await expect(saying).rejects.toThrow('barge-in');
    await vi.waitFor(() => expect(server.requests[0]?.abandoned).toBe(true));
  });
});
