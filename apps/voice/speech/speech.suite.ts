import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, readOptions } from '@trunkline/config';
import { onTestFinished } from 'vitest';
import { voiceOptions } from '../options.ts';
import { type AudioFrame, type Sound, toFloat32 } from './audio/samples.ts';
import { createSidecarClient } from './sidecar/client.ts';
import { createSpeechParts } from './speech.ts';
import type { SpeechRequest, Synthesizer } from './synthesis/synthesizer.ts';

/** Shared by all tests: what is unpacked there is always the same. */
const speechDirectory = join(tmpdir(), 'trunkline-speech-tests');

/**
 * The parts of speech as an environment asks for them, to be closed; nothing is listening by default.
 * Piper says a text in the same way each time: by chance it would now and then say one that no recogniser understands.
 */
export function createSpeech(env: Record<string, string> = {}, directory = speechDirectory) {
  const options = readOptions(voiceOptions, { env: { SIDECAR_URL: 'http://127.0.0.1:9', ...env } });
  const logged: string[] = [];
  const sidecar = createSidecarClient({ url: options.sidecarUrl, timeoutMs: options.sidecarTimeout * 1000 });
  const parts = createSpeechParts(options, {
    sidecar,
    directory,
    isSteady: true,
    modelTimeoutMs: 240_000,
    logger: loggerInto(logged),
  });
  return { ...parts, logged };
}

/** The same, closed when the test ends. */
export function openSpeech(env: Record<string, string> = {}, directory?: string) {
  const speech = createSpeech(env, directory);
  onTestFinished(() => speech.close());
  return speech;
}

/** Everything that a request says, as one sound. */
export async function spoken(synthesizer: Synthesizer, request: SpeechRequest): Promise<Sound> {
  const frames: AudioFrame[] = [];
  for await (const frame of synthesizer.speak(request)) frames.push(frame);
  const samples = frames.flatMap((frame) => [...toFloat32(frame.samples)]);
  return { channels: [Float32Array.from(samples)], sampleRate: frames[0]?.sampleRate ?? 0 };
}

/** Keeps the words of warnings and news. */
export function loggerInto(logged: string[]): Logger {
  const note = (first: object | string, message?: string) =>
    void logged.push(typeof first === 'string' ? first : (message ?? ''));
  const drop = () => undefined;
  const logger: Logger = { debug: drop, info: note, warn: note, error: note, child: () => logger };
  return logger;
}
