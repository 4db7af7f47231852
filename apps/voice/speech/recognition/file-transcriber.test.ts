import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSidecarServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../../voice.suite.ts';
import { encodeWav } from '../audio/wav.ts';
import { createSpeech, openSpeech } from '../speech.suite.ts';

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
    // Loading the models took longer than a minute beside eight other suites.
  });

  it('stops when it is told to', async () => {
    const bytes = encodeWav(new Uint8Array(2 * 16_000), 16_000);
    const reason = new Error('enough');
    const transcribing = openSpeech().transcriber.transcribe({ bytes, name: 'x' }, AbortSignal.abort(reason));
    await expect(transcribing).rejects.toThrow('enough');
  });

  it('fails in words when the weights are not where they should be, and can be closed at once', async () => {
    // What still loads then ends the process, though not each time.
    for (let time = 0; time < 5; time += 1) {
      const { transcriber, close } = createSpeech({ STT_MODEL_DIR: '/nonexistent' });
      await expect(transcriber.transcribe({ bytes: austen, name: 'x' })).rejects.toThrow('/nonexistent');
      await close();
    }
  });
});
