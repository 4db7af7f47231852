import { startModelServer, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dial } from '../media/caller.suite.ts';
import { type PeerRequest, startPeer } from '../peer.suite.ts';
import { toMono } from '../speech/audio/resample.ts';
import { type Sound, toInt16 } from '../speech/audio/samples.ts';
import { decodeWav } from '../speech/audio/wav.ts';
import { whiteNoise } from '../speech/sounds.suite.ts';
import { openSpeech, spoken } from '../speech/speech.suite.ts';
import { wordError } from '../speech/word-error.suite.ts';
import { startVoice } from '../voice.suite.ts';

const sentence =
  'My sister bought a green bicycle last summer and rode it along the river every single morning.';
const rate = 48_000;

describe('NOISE_FILTER=rnnoise in a call', () => {
  it('gives recognition the voice with far less noise, and all of its words', async () => {
    // Kokoro says the same words in the same way every time; Piper varies, and some of its renderings drown.
    const { synthesizer, recognizer } = openSpeech({ TTS_BACKEND: 'inprocess', INPROC_VOICE: 'af_heart' });
    const voice = await toMono(await spoken(synthesizer, { text: sentence }), rate);
    const sound = toInt16(inNoise(voice, 10));
    const [asItIs, filtered] = await Promise.all([
      recognisedSound(sound, 'off'),
      recognisedSound(sound, 'rnnoise'),
    ]);
    expect(floorOf(filtered) / floorOf(asItIs)).toBeLessThan(0.5);
    const heard = await recognizer.recognize(filtered, { final: true });
    expect(wordError([sentence], [heard]), heard).toBeLessThanOrEqual(0.15);
  });
});

/** The sound that a service with this filter hands to its recogniser when somebody calls and says it. */
async function recognisedSound(sound: Int16Array, filter: 'off' | 'rnnoise'): Promise<Float32Array> {
  // An unfinished text: a finished one lets the turn end at a pause in the middle of the sentence.
  const endpoint = await startPeer(() => ({ text: 'The train goes to the' }));
  const model = await startModelServer({ script: ['Yes.', 'Yes.', 'Yes.'] });
  onTestFinished(() => model.stop());
  const recognition = { STT_BACKEND: 'compat', STT_URL: endpoint.url, NOISE_FILTER: filter };
  const speech = { TTS_BACKEND: 'inprocess', INPROC_VOICE: 'piper' };
  const service = await startVoice({
    env: { ...recognition, ...speech, LLM_URL: model.url, LLM_MODEL: 'main-model' },
  });
  expect((await service.get('/healthz')).body).toMatchObject({ audio: { noise_filter: filter } });
  const caller = await dial(service, { sound });
  await waitFor(() => caller.messages().some(({ data }) => data?.final === true), { timeoutMs: 60_000 });
  caller.hangUp();
  const sounds = await Promise.all(endpoint.requests.map(soundIn));
  return sounds.reduce((longest, next) => (next.length > longest.length ? next : longest));
}

async function soundIn({ headers, bytes }: PeerRequest): Promise<Float32Array> {
  const type = headers['content-type'] ?? '';
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
  const file = form.get('file') as File;
  const sound: Sound = decodeWav(new Uint8Array(await file.arrayBuffer()));
  return sound.channels[0] ?? new Float32Array();
}

/** A voice in white noise that is so many decibels softer, with a second of noise around it. */
function inNoise(voice: Float32Array, decibels: number): Float32Array {
  const noise = whiteNoise((voice.length + 2 * rate) / 16_000, 1);
  const gain = (rms(voice) / rms(noise)) * 10 ** (-decibels / 20);
  return Float32Array.from(
    { length: voice.length + 2 * rate },
    (_, index) => (voice[index - rate] ?? 0) + gain * (noise[index] ?? 0),
  );
}

/** How loud the quietest tenth of a sound is, by pieces of 20 ms. */
function floorOf(samples: Float32Array): number {
  const piece = 320;
  const levels = Array.from({ length: Math.floor(samples.length / piece) }, (_, index) =>
    rms(samples.subarray(index * piece, (index + 1) * piece)),
  );
  const quietest = levels.sort((left, right) => left - right).slice(0, Math.ceil(levels.length / 10));
  return quietest.reduce((sum, level) => sum + level, 0) / quietest.length;
}

function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}
