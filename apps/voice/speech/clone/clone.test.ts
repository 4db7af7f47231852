import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSidecarServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { startPeer } from '../../peer.suite.ts';
import { startVoice, type TestVoice } from '../../voice.suite.ts';
import { encodeWav } from '../audio/wav.ts';

/** A quiet recording of some length. */
const recording = (seconds: number) => encodeWav(new Uint8Array(2 * 8000 * seconds), 8000);

async function start(env: Record<string, string> = {}) {
  const sidecar = await startSidecarServer();
  onTestFinished(() => sidecar.stop());
  return { sidecar, voice: await startVoice({ env: { SIDECAR_URL: sidecar.url, ...env } }) };
}

function upload(
  voice: TestVoice,
  fields: Record<string, string>,
  audio: Uint8Array | undefined = recording(12),
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (audio) form.set('audio', new Blob([Uint8Array.from(audio)]), 'me.wav');
  return voice.ask('/api/voice/clone', { method: 'POST', body: form });
}

/** A transcription endpoint that answers with the given text, or a status. */
async function startTranscription(answer: string | number) {
  const { url, requests } = await startPeer(() =>
    typeof answer === 'number' ? { status: answer } : { text: answer },
  );
  return { requests, env: { STT_BACKEND: 'compat', STT_URL: `${url}/v1`, STT_API_KEY: 'stt-key' } };
}

describe('a clone', () => {
  it('saves the voice, makes a skill that shares SOUL.md, and is counted [V007][V022][V042][V064][V084][V085][V093][V094][V096]', async () => {
    const { voice, sidecar } = await start();
    const answer = await upload(voice, {
      slug: 'night-owl_2',
      transcript: ' Hoo hoo. ',
      description: 'Speaks: at "night" $HOME',
    });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({
      ok: true,
      slug: 'night-owl_2',
      name: 'Night Owl 2',
      transcript: 'Hoo hoo.',
      auto_transcribed: false,
    });
    expect(sidecar.references.get('night-owl_2')).toEqual({ audio: recording(12), text: 'Hoo hoo.' });
    expect(parse(readFileSync(join(voice.config, 'skills/night-owl_2.yaml'), 'utf8'))).toMatchObject({
      voice: 'night-owl_2',
      tts_backend: 'sidecar',
      system_prompt_file: 'SOUL.md',
    });
    const { body } = await voice.get('/api/skills');
    const skill = Object.values(body.skills ?? {}).find(({ slug }) => String(slug) === 'night-owl_2');
    expect(skill).toMatchObject({ name: 'Night Owl 2', description: 'Speaks: at "night" $HOME' });
    expect((await voice.get('/api/voice/references')).body).toEqual({
      backend: 'sidecar',
      references: ['night-owl_2'],
    });
    expect((await voice.get('/api/metrics')).body.clone_requests_total).toBe(1);
  });

  it('is transcribed by the endpoint when no transcript comes [V095]', async () => {
    const { requests, env } = await startTranscription('  I am heard.  ');
    const { voice, sidecar } = await start({ ...env, STT_MODEL: 'ear' });
    expect((await upload(voice, { slug: 'heard', name: 'Heard', transcript: ' ' })).body).toEqual({
      ok: true,
      slug: 'heard',
      name: 'Heard',
      transcript: 'I am heard.',
      auto_transcribed: true,
    });
    expect(sidecar.references.get('heard')?.text).toBe('I am heard.');
    expect(requests[0]).toMatchObject({
      path: '/v1/audio/transcriptions',
      headers: { authorization: 'Bearer stt-key' },
    });
    expect(requests[0]?.bytes.toString('latin1')).toMatch(/name="model"\r\n\r\near\r\n/);
    expect(requests[0]?.bytes.toString('latin1')).toContain('filename="me.wav"');
  });

  it('takes other formats by what they hold, whatever they are called', async () => {
    const { voice } = await start();
    const mp3 = readFileSync(join(import.meta.dirname, '../audio/fixtures/tone.mp3'));
    expect((await upload(voice, { slug: 'packed', transcript: 'x' }, mp3)).body.ok).toBe(true);
  });
});

describe('an upload is refused', () => {
  it('in the order of the checks, with status 200 and words [V113][V117][V118]', async () => {
    const { voice, sidecar } = await start();
    const cases: [Record<string, string>, Uint8Array, string | RegExp][] = [
      [{ slug: 'Bad Slug' }, new Uint8Array(), 'slug must be lowercase letters/numbers/hyphens (2-64 chars)'],
      [{ slug: 'x' }, recording(12), 'slug must be lowercase letters/numbers/hyphens (2-64 chars)'],
      [
        { slug: 'x'.repeat(65) },
        recording(12),
        'slug must be lowercase letters/numbers/hyphens (2-64 chars)',
      ],
      [{ slug: '../evil' }, recording(12), 'slug must be lowercase letters/numbers/hyphens (2-64 chars)'],
      [{ slug: 'chef' }, new Uint8Array(), "slug 'chef' already exists"],
      [{ slug: 'fresh' }, new Uint8Array(), 'empty audio upload'],
      [
        { slug: 'fresh' },
        new TextEncoder().encode('RIFFnothing'),
        'the audio is no WAV, MP3, FLAC or OGG file',
      ],
      [{ slug: 'fresh' }, recording(9.9), 'audio must be 10-30 s long, this is 9.9 s'],
      [{ slug: 'fresh' }, recording(30.5), 'audio must be 10-30 s long, this is more than 30 s'],
    ];
    for (const [fields, audio, error] of cases) {
      const answer = await upload(voice, { transcript: 'x', ...fields }, audio);
      expect([answer.status, answer.body]).toEqual([200, { error }]);
    }
    expect(sidecar.references.size).toBe(0);
    expect((await voice.get('/api/metrics')).body.clone_requests_total).toBe(0);
  });

  it.each(['owl.yaml', 'owl.yml'])(
    'when its file is there, also one that is broken or not yet read: %s',
    async (name) => {
      const { voice, sidecar } = await start();
      const mine = 'name: [My owl, which took me a day';
      voice.put(`skills/${name}`, mine);
      expect((await upload(voice, { slug: 'owl', transcript: 'x' })).body).toEqual({
        error: "slug 'owl' already exists",
      });
      expect(readFileSync(join(voice.config, 'skills', name), 'utf8')).toBe(mine);
      expect(sidecar.references.size).toBe(0);
    },
  );

  it.each([{ name: 'x'.repeat(201) }, { description: 'x'.repeat(2001) }, { transcript: 'x'.repeat(5001) }])(
    'with texts that are longer than anybody reads',
    async (field) => {
      const { voice, sidecar } = await start();
      const answer = await upload(voice, { slug: 'long', transcript: 'x', ...field });
      expect(answer).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', Object.keys(field)[0]] }] },
      });
      expect(sidecar.references.size).toBe(0);
    },
  );

  it('where the backend is another, before anything else is looked at [V040]', async () => {
    const voice = await startVoice({ env: { TTS_BACKEND: 'inprocess' } });
    expect((await upload(voice, { slug: '!' }, new Uint8Array())).body.error).toContain(
      'TTS_BACKEND=sidecar',
    );
    expect((await voice.get('/api/voice/references')).body).toEqual({ backend: 'inprocess', references: [] });
  });

  it('with 422 when a field is missing', async () => {
    const voice = await startVoice();
    const form = new FormData();
    form.set('slug', 'fine');
    expect(await voice.ask('/api/voice/clone', { method: 'POST', body: form })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'audio'] }] },
    });
  });

  it.each([
    ['', 'auto-transcribe produced empty text — provide a transcript manually'],
    [503, 'auto-transcribe failed: the transcription endpoint answered 503'],
  ])('when its transcription gives %j', async (given, error) => {
    const { env } = await startTranscription(given);
    const { voice, sidecar } = await start(env);
    expect((await upload(voice, { slug: 'mute' })).body).toEqual({ error });
    expect(sidecar.references.size).toBe(0);
  });
});

describe('a clone that fails half way leaves nothing', () => {
  const skillFile = (voice: TestVoice) => existsSync(join(voice.config, 'skills/half.yaml'));

  it('when the sidecar refuses the reference', async () => {
    const { voice, sidecar } = await start();
    sidecar.faults.set('/v1/references/add', { refuse: 'too noisy' });
    expect((await upload(voice, { slug: 'half', transcript: 'x' })).body).toEqual({
      error: 'sidecar rejected the reference',
    });
    expect([skillFile(voice), voice.voice.library.find('half')]).toEqual([false, undefined]);
  });

  it('when the sidecar is gone', async () => {
    const { voice, sidecar } = await start();
    await sidecar.stop();
    expect((await upload(voice, { slug: 'half', transcript: 'x' })).body).toEqual({
      error: 'sidecar rejected the reference',
    });
    expect((await voice.get('/api/voice/references')).body).toMatchObject({
      references: [],
      error: expect.any(String),
    });
  });

  it('when the skills cannot be reloaded', async () => {
    const { voice, sidecar } = await start();
    voice.put('skills/broken.yaml', 'name: [');
    expect((await upload(voice, { slug: 'half', transcript: 'x' })).body.error).toMatch(
      /the skill cannot be saved.*broken\.yaml/s,
    );
    expect([skillFile(voice), sidecar.references.size]).toEqual([false, 0]);
  });

  it('but spares a voice of that name that was there before', async () => {
    const { voice, sidecar } = await start();
    sidecar.references.set('half', { audio: new Uint8Array(1), text: 'old' });
    expect((await upload(voice, { slug: 'half', transcript: 'x' })).body).toEqual({
      error: 'sidecar rejected the reference',
    });
    expect(sidecar.references.get('half')?.text).toBe('old');
  });

  it('and of two at once with one slug only the first is made', async () => {
    const { voice } = await start();
    const answers = await Promise.all([1, 2].map(() => upload(voice, { slug: 'half', transcript: 'x' })));
    expect(answers.filter(({ body }) => body.ok)).toHaveLength(1);
    expect(answers.map(({ body }) => body.error).filter(Boolean)).toEqual(["slug 'half' already exists"]);
  });
});
