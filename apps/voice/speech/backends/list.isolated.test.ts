import { helpText, readOptions, referencePage } from '@trunkline/config';
import { expect, it, vi } from 'vitest';
import { voiceOptions } from '../../options.ts';
import { startVoice } from '../../voice.suite.ts';
import { diagnoseSpeech } from '../diagnose.ts';

// The one line in the list that a new backend takes.
vi.mock(import('./list.ts'), async (importOriginal) => {
  const { speechBackends } = await importOriginal();
  const { toy } = await import('./fixtures/toy.ts');
  return { speechBackends: [...speechBackends, toy] as never };
});

const env = { TTS_BACKEND: 'toy', STT_BACKEND: 'toy', TOY_LOUDNESS: '9' };

it('a backend of one file is offered, documented and diagnosed', async () => {
  const options = readOptions(voiceOptions, { env });
  expect(options).toMatchObject({ ttsBackend: 'toy', sttBackend: 'toy', toyLoudness: 9 });
  expect(() => readOptions(voiceOptions, { env: { TTS_BACKEND: 'none' } })).toThrow('toy');
  expect(helpText('voice', voiceOptions)).toContain('TOY_LOUDNESS');
  expect(referencePage([voiceOptions])).toContain('Loudness of the toy.');
  expect(await diagnoseSpeech(options)).toContainEqual({
    subject: 'speech toy',
    state: 'ok',
    words: 'as loud as 9.',
  });
});

it('a backend of one file speaks, listens and shows in /healthz', async () => {
  const skill = 'slug: bell\nname: Bell\ntts_backend: toy\nsystem_prompt: Ring.\n';
  const voice = await startVoice({ env, files: { 'skills/bell.yaml': skill } });
  expect((await voice.get('/healthz')).body).toMatchObject({
    tts_backend: 'toy',
    stt_backend: 'toy',
    skills: expect.arrayContaining(['bell']),
    speech: { tts: 'toy', stt: 'toy', warnings: [] },
  });
  expect((await voice.get('/api/voice/references')).body).toEqual({ backend: 'toy', references: [] });
  const { speech } = voice.voice;
  const heard: number[] = [];
  for await (const { samples } of speech.synthesizer.speak({ text: 'Hello' })) heard.push(samples[0] ?? 0);
  expect(heard).toEqual([9]);
  expect(speech.recognizer.backend).toBe('toy');
});
