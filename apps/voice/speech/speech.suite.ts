import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, readOptions } from '@trunkline/config';
import { onTestFinished } from 'vitest';
import { voiceOptions } from '../options.ts';
import { createSidecarClient } from './sidecar/client.ts';
import { createSpeechParts } from './speech.ts';

/** Shared by all tests: what is unpacked there is always the same. */
const speechDirectory = join(tmpdir(), 'trunkline-speech-tests');

/** The parts of speech as an environment asks for them, closed when the test ends; nothing is listening by default. */
export function openSpeech(env: Record<string, string> = {}) {
  const options = readOptions(voiceOptions, { env: { SIDECAR_URL: 'http://127.0.0.1:9', ...env } });
  const logged: string[] = [];
  const sidecar = createSidecarClient({ url: options.sidecarUrl, timeoutMs: options.sidecarTimeout * 1000 });
  const parts = createSpeechParts(options, {
    sidecar,
    directory: speechDirectory,
    logger: loggerInto(logged),
  });
  onTestFinished(() => parts.close());
  return { ...parts, logged };
}

/** Keeps the words of warnings and news. */
export function loggerInto(logged: string[]): Logger {
  const note = (first: object | string, message?: string) =>
    void logged.push(typeof first === 'string' ? first : (message ?? ''));
  const drop = () => undefined;
  const logger: Logger = { debug: drop, info: note, warn: note, error: note, child: () => logger };
  return logger;
}
