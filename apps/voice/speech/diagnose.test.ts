import { expect, it } from 'vitest';
import { diagnoseSpeech } from './diagnose.ts';

it.runIf(process.platform === 'linux')('tells for every part of speech whether it works here', async () => {
  const found = await diagnoseSpeech();
  expect(found.map(({ subject, state }) => `${subject}: ${state}`)).toEqual([
    'speech recognition: ok',
    'speech voice: ok',
    'speech voice activity: ok',
    'speech noise filter: ok',
    'speech runtime: ok',
  ]);
  expect(found.at(-1)?.words).toContain('onnxruntime-node');
});
