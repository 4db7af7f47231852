import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { describeRoute, requireOperator, validate } from '@trunkline/http';
import { errorMessage, type HeardSpeech, type SpeechSetup } from '@trunkline/std';
import { z } from 'zod';
import type { RouteDeps, VoiceApp } from '../components.ts';
import { voiceErrors } from '../errors.ts';
import type { VoiceOptions } from '../options.ts';
import { bytesOf, concatSamples, toFloat32 } from '../speech/audio/samples.ts';
import { encodeWav } from '../speech/audio/wav.ts';
import { createSidecarClient } from '../speech/sidecar/client.ts';
import { createSpeechParts, type SpeechParts } from '../speech/speech.ts';
import { automaticVoice } from '../speech/synthesis/inprocess/voice-choice.ts';
import { languageLetters, languages, presets } from '../speech/weights.ts';
import { findDirectories } from '../store/database.ts';

const MOST_MS = 60_000;

const voices: SpeechSetup['voices'] = [
  ...presets.map((id) => ({ id, title: titleOf(id), language: id.slice(0, 1) })),
  { id: 'piper', title: 'Piper (faster, plainer)', language: 'a' },
  ...languageLetters.map((language) => ({ id: automaticVoice, title: 'Chosen for this machine', language })),
];

const sample = z.object({
  text: z.string().trim().min(1).max(300),
  voice: z.string().trim().min(1).max(100).optional(),
  lang: z.string().trim().min(1).max(10).optional(),
});

/** What the step "Speech" of the page at /setup needs: voices, how one sounds, and what is understood. */
export function mountSetup(
  app: VoiceApp,
  { operator, options, speech }: Pick<RouteDeps, 'operator' | 'options' | 'speech'>,
): void {
  app.use('/operator/setup/speech', requireOperator(operator));
  app.use('/operator/setup/speech/*', requireOperator(operator));
  app.get(
    '/operator/setup/speech',
    describeRoute({ summary: 'The voices to choose from, and the one that speaks' }),
    (context) => context.json({ ...speechSetup(options), ...choiceOf(speech) }),
  );

  const { speech_failed } = voiceErrors;
  app.post(
    '/operator/setup/speech/say',
    describeRoute({
      summary: 'Speak a short text, to hear a voice before it is chosen',
      mediaType: 'audio/wav',
      errors: [speech_failed],
    }),
    validate('json', sample),
    async (context) => {
      const wav = await say(speech, context.req.valid('json'), context.req.raw.signal);
      return new Response(Buffer.from(wav), { headers: { 'content-type': 'audio/wav' } });
    },
  );

  app.post(
    '/operator/setup/speech/hear',
    describeRoute({
      summary: 'Say what is understood of a recording, to test a microphone',
      errors: [speech_failed],
    }),
    validate('form', z.object({ audio: z.file() })),
    async (context) => {
      const { audio } = context.req.valid('form');
      const signal = AbortSignal.any([context.req.raw.signal, AbortSignal.timeout(MOST_MS)]);
      const file = { bytes: new Uint8Array(await audio.arrayBuffer()), name: 'test.wav' };
      try {
        return context.json<HeardSpeech>({ text: await speech.transcriber.transcribe(file, signal) });
      } catch (error) {
        throw speech_failed({ reason: errorMessage(error) }, { cause: error });
      }
    },
  );
}

function speechSetup(options: VoiceOptions): SpeechSetup {
  return {
    languages: Object.entries(languages).map(([id, title]) => ({ id, title })),
    voices,
    voice: options.inprocVoice,
    language: options.inprocLang,
    backend: options.ttsBackend,
  };
}

function choiceOf(speech: Pick<SpeechParts, 'describe'>): Pick<SpeechSetup, 'choice'> {
  const { voice } = speech.describe();
  return voice?.chosen_by === 'machine' ? { choice: { voice: voice.voice, reason: voice.reason } } : {};
}

type Sample = z.output<typeof sample>;

/** The sample as a WAV file. */
async function say(
  { synthesizer }: Pick<SpeechParts, 'synthesizer'>,
  given: Sample,
  caller: AbortSignal,
): Promise<Uint8Array> {
  const signal = AbortSignal.any([caller, AbortSignal.timeout(MOST_MS)]);
  const parts: Float32Array[] = [];
  let sampleRate = 0;
  try {
    for await (const frame of synthesizer.speak({ ...given, signal })) {
      parts.push(toFloat32(frame.samples));
      sampleRate = frame.sampleRate;
    }
  } catch (error) {
    throw voiceErrors.speech_failed({ reason: errorMessage(error) }, { cause: error });
  }
  return encodeWav(bytesOf(concatSamples(parts)), sampleRate);
}

/** The step "Speech" without a service that runs. */
export function directSpeech(options: VoiceOptions, logger: Logger) {
  return {
    view: () => speechSetup(options),
    async say(given: Sample, signal: AbortSignal): Promise<Uint8Array> {
      const { store } = await findDirectories(options, logger);
      const sidecar = createSidecarClient({
        url: options.sidecarUrl,
        timeoutMs: options.sidecarTimeout * 1000,
      });
      const speech = createSpeechParts(options, { sidecar, directory: join(store, 'speech'), logger });
      try {
        return await say(speech, given, signal);
      } finally {
        await speech.close();
      }
    },
  };
}

/** `af_heart` is "Heart (female)". */
function titleOf(id: string): string {
  const name = id.slice(3);
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)} (${id[1] === 'f' ? 'female' : 'male'})`;
}
