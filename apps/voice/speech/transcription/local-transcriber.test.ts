import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSidecarServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../../voice.suite.ts';
import { encodeWav } from '../audio/wav.ts';
import { createLocalTranscriber } from './local-transcriber.ts';
import { readVocabulary } from './moonshine/vocabulary.ts';

const austen = new Uint8Array(readFileSync(join(import.meta.dirname, 'fixtures/austen.ogg')));

describe('recognition on this machine', () => {
  it('transcribes an uploaded voice [V095]', async () => {
    const sidecar = await startSidecarServer();
    onTestFinished(() => sidecar.stop());
    const voice = await startVoice({ env: { SIDECAR_URL: sidecar.url } });
    const form = new FormData();
    form.set('slug', 'reader');
    form.set('audio', new Blob([austen]), 'austen.ogg');
    const { body } = await voice.ask('/api/voice/clone', { method: 'POST', body: form });
    expect(body).toMatchObject({ ok: true, slug: 'reader', name: 'Reader', auto_transcribed: true });
    expect(body.transcript).toMatch(/John Dashwood had then leisure to consider how much/);
    expect(body.transcript).toMatch(/not an ill.disposed young man/);
    expect(sidecar.references.get('reader')?.text).toBe(body.transcript);
  }, 60_000);

  it('stops when it is told to', async () => {
    const bytes = encodeWav(new Uint8Array(2 * 16_000), 16_000);
    const reason = new Error('enough');
    const transcribing = createLocalTranscriber(undefined).transcribe(
      { bytes, name: 'x' },
      AbortSignal.abort(reason),
    );
    await expect(transcribing).rejects.toThrow('enough');
  }, 60_000);

  it('fails in words when the weights are not where they should be', async () => {
    const transcriber = createLocalTranscriber('/nonexistent');
    const bytes = encodeWav(new Uint8Array(32), 16_000);
    await expect(transcriber.transcribe({ bytes, name: 'x' })).rejects.toThrow('/nonexistent');
  });
});

describe('the vocabulary', () => {
  const words = [
    '<unk>',
    '<s>',
    '</s>',
    '<0xC3>',
    '<0xA4>',
    '\u2581go',
    'od',
    ...Array.from({ length: 31_993 }, (_, index) => `w${index}`),
  ];
  const script = `a="${Buffer.from('x'.repeat(90_000)).toString('base64')}";b="${Buffer.from(words.join('\n')).toString('base64')}";`;

  it('is found in the script, and puts pieces and bytes together', () => {
    expect(readVocabulary(script).textOf([1, 5, 6, 5, 3, 4, 99_999, 2])).toBe('good goä');
  });

  it('is missed with words', () => {
    expect(() => readVocabulary('let a = 1')).toThrow('not where it was');
  });
});
