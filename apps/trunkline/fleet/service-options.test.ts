import { readOptions } from '@trunkline/config';
import { expect, it } from 'vitest';
import { upOptions } from '../options.ts';
import { readServiceOptions } from './service-options.ts';

const voiceFor = (env: Record<string, string>) =>
  readServiceOptions(readOptions(upOptions, { env }), env).voice;
const backendFor = (env: Record<string, string>) => voiceFor(env).ttsBackend;

it('names two services that were given one port', () => {
  const read = (env: Record<string, string>) =>
    readServiceOptions(readOptions(upOptions, { env }), env).voice.port;
  expect(() => read({ VOICE_PORT: '7870' })).toThrow(
    'VOICE_PORT and AGENT_PORT are 7870; give each its own port',
  );
  expect(read({ VOICE_PORT: '0', AGENT_PORT: '0' })).toBe(0);
});

it('the voices of this machine speak unless a backend or a sidecar is named', () => {
  expect(backendFor({})).toBe('inprocess');
  expect(backendFor({ SIDECAR_URL: 'http://127.0.0.1:9' })).toBe('sidecar');
  expect(backendFor({ TTS_BACKEND: 'compat' })).toBe('compat');
});

it('the machine chooses its voice unless one is named', () => {
  expect(voiceFor({}).inprocVoice).toBe('auto');
  expect(voiceFor({ TTS_BACKEND: 'inprocess' }).inprocVoice).toBe('auto');
  expect(voiceFor({ INPROC_VOICE: 'bf_emma' }).inprocVoice).toBe('bf_emma');
  const others = [{ TTS_BACKEND: 'compat' }, { SIDECAR_URL: 'http://127.0.0.1:9' }];
  for (const env of others) expect(voiceFor(env).inprocVoice).toBe('af_heart');
});

it('the end-of-turn model decides where the local recogniser listens, unless it is turned off', () => {
  expect(voiceFor({}).smartTurn).toBe('local');
  expect(voiceFor({ SMART_TURN: 'off' }).smartTurn).toBe('off');
  expect(voiceFor({ STT_BACKEND: 'whisper' }).smartTurn).toBe('off');
  expect(voiceFor({ STT_BACKEND: 'whisper', SMART_TURN: 'local' }).smartTurn).toBe('local');
});
