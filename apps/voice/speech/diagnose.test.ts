import { readOptions } from '@trunkline/config';
import { expect, it } from 'vitest';
import { voiceOptions } from '../options.ts';
import { diagnoseSpeech } from './diagnose.ts';

it.runIf(process.platform === 'linux')('tells for every part of speech whether it works here', async () => {
  const found = await diagnoseSpeech(readOptions(voiceOptions, { env: {} }));
  expect(found.map(({ subject, state }) => `${subject}: ${state}`)).toEqual([
    'speech recognition: ok',
    'speech voice: ok',
    'speech voice activity: ok',
    'speech noise filter: ok',
    'speech runtime: ok',
  ]);
  expect(found.at(-1)?.words).toContain('onnxruntime-node');
});
