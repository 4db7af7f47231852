import { readOptions } from '@trunkline/config';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { voiceOptions } from '../options.ts';
import { diagnoseSpeech } from './diagnose.ts';

it.runIf(process.platform === 'linux')('tells for every part of speech whether it works here', async () => {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  const env = { TTS_BACKEND: 'inprocess', INPROC_VOICE: 'auto', TRUNKLINE_HOME: path };
  const found = await diagnoseSpeech(readOptions(voiceOptions, { env }));
  const spoken = ({ subject, state }: (typeof found)[number]) => `${subject}: ${state}`;
  // Only where somebody has installed it.
  const isEspeak = (line: string) => line === 'speech voices of other languages: ok';
  expect(found.map(spoken).filter((line) => !isEspeak(line))).toEqual([
    'speech recognition: ok',
    'speech voice: ok',
    'speech voice in use: ok',
    'speech voice activity: ok',
    'speech noise filter: ok',
    'speech runtime: ok',
  ]);
  const chosen = found.find(({ subject }) => subject === 'speech voice in use');
  expect(chosen?.words).toContain('Piper speaks until the voices are measured');
  expect(found.at(-1)?.words).toContain('onnxruntime-node');
});
