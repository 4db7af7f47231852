import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSidecarServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';
import { meanModel } from './ending/mean-model.suite.ts';
import { openSpeech, spoken } from './speech.suite.ts';
import { openEspeak } from './synthesis/inprocess/kokoro/espeak.ts';
import { readAloud } from './synthesis/inprocess/kokoro/phonemes.ts';
import { checkWeights, presets, weights } from './weights.ts';

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'speech-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe('voices', () => {
  it('of a skill with a backend of its own come from there', async () => {
    const sidecar = await startSidecarServer({ speech: [new Uint8Array(8820)] });
    onTestFinished(() => sidecar.stop());
    const { synthesizer } = openSpeech({ SIDECAR_URL: sidecar.url, TTS_BACKEND: 'inprocess' });
    const sound = await spoken(synthesizer, { text: 'Hello.', backend: 'sidecar', voice: 'ada' });
    expect(sound.sampleRate).toBe(44_100);
    expect(sidecar.requests[0]?.body).toMatchObject({ text: 'Hello.', reference_id: 'ada' });
  });

  it('are af_heart in American English unless set otherwise; one that is unknown is replaced, with a warning [V046]', async () => {
    const { synthesizer, describe: told } = openSpeech({ TTS_BACKEND: 'inprocess' });
    const sound = await spoken(synthesizer, { text: 'Yes.', voice: 'zz_nobody' });
    expect(sound.sampleRate).toBe(24_000);
    const unknown = 'The local voice has no preset zz_nobody; af_heart speaks instead.';
    expect(told().warnings).toEqual([unknown]);
    const spanish = await spoken(synthesizer, { text: 'Hola, amigo.', lang: 'es' });
    expect(spanish.channels[0]?.length).toBeGreaterThan(12_000);
    const english = expect.stringContaining('cannot read Spanish and reads it as English: run "npm install');
    expect(told().warnings).toEqual((await openEspeak()) ? [unknown] : [unknown, english]);
  });

  it('are 54, installed and whole [V040]', async () => {
    expect([presets.length, new Set(presets).size]).toEqual([54, 54]);
    const entry = weights.find(({ name }) => name === 'Kokoro voices');
    expect(entry?.files).toHaveLength(54);
    expect(entry && (await checkWeights(entry))).toBe('ready');
  });

  it('speak by turns: what one says is stopped without harm to the next', async () => {
    const { synthesizer } = openSpeech({ TTS_BACKEND: 'inprocess', INPROC_VOICE: 'piper:5' });
    const controller = new AbortController();
    const long = spoken(synthesizer, { text: 'A long story. '.repeat(40), signal: controller.signal });
    controller.abort(new Error('barge-in'));
    await expect(long).rejects.toThrow();
    expect((await spoken(synthesizer, { text: 'Yes.' })).channels[0]?.length).toBeGreaterThan(2000);
  });

  it('where no sidecar answers are those of this machine, with a warning in the health body', async () => {
    const voice = await startVoice({ env: { SIDECAR_URL: 'http://127.0.0.1:9', INPROC_VOICE: 'piper' } });
    const { sampleRate } = await spoken(voice.voice.speech.synthesizer, { text: 'Hello.' });
    expect(sampleRate).toBe(22_050);
    const { body } = await voice.get('/healthz');
    expect(body).toMatchObject({ tts_backend: 'sidecar', speech: { tts: 'sidecar', stt: 'local' } });
    expect(body.speech?.warnings).toEqual([
      expect.stringMatching(
        /^sidecar does not speak: .*SIDECAR_URL.*\(inprocess \(Piper\) speaks instead\)$/,
      ),
    ]);
  });
});

describe('languages', () => {
  it('American and British English differ [V047]', async () => {
    expect((await readAloud('Ask for water, I go home.', 'a')).phonemes).toBe(
      'ˈæsk fɔɹ wˈɔTəɹ, ˌI ɡˌO hˈOm.',
    );
    expect((await readAloud('Ask for water, I go home.', 'b')).phonemes).toBe(
      'ˈɑːsk fɔː wˈɔːtə, ˌI ɡˌQ hˈQm.',
    );
  });

  it('that cannot be read are read as English with a word about it, or not at all in other letters', async () => {
    const { notice } = await readAloud('Konnichiwa', 'j');
    expect(notice).toBe(
      'The local voice cannot read Japanese and reads it as English: use TTS_BACKEND=sidecar for it.',
    );
    await expect(readAloud('こんにちは', 'j')).rejects.toMatchObject({ code: 'unsupported' });
  });
});

describe('the end-of-turn model', () => {
  it('is our own, which reads and hears, in the languages it knows, where the operator has put none', async () => {
    const speech = openSpeech({ SMART_TURN: 'local' }, await temporary());
    expect(await speech.openSmartTurn()).toBeUndefined();
    expect([speech.logged, speech.describe().smart_turn]).toEqual([[], 'local']);
    expect(await speech.openTurnDetector('hi')).toBeUndefined();
    const detector = await speech.openTurnDetector('en');
    // The model may take long to load on a busy machine.
    await speech.warm();
    const silence = new Float32Array(38_560);
    const [whole = 0, part = 1] = [
      await detector?.judge({ text: 'Turn off the lights in the kitchen.', samples: silence }),
      await detector?.judge({ text: 'Turn off the lights in the', samples: silence }),
    ];
    expect(whole).toBeGreaterThan(5 * part);
    // In Spanish the words decide alone.
    const spanish = await speech.openTurnDetector('es');
    const begun = 'Quiero pedir una cita para';
    expect(
      await spanish?.judge({ text: `${begun} el lunes por la tarde.`, samples: silence }),
    ).toBeGreaterThan(0.7);
    expect(await spanish?.judge({ text: begun, samples: silence })).toBeLessThan(0.1);
  });

  it('is off unless asked for', async () => {
    const directory = await temporary();
    await writeFile(join(directory, 'smart-turn.onnx'), meanModel());
    const speech = openSpeech({}, directory);
    expect([await speech.openSmartTurn(), await speech.openNoiseFilter()]).toEqual([undefined, undefined]);
    expect(await speech.openTurnDetector('en')).toBeUndefined();
    expect(speech.logged).toEqual([]);
  });

  it('gets how loud 80 bands are in the last eight seconds', async () => {
    const directory = await temporary();
    await writeFile(join(directory, 'smart-turn.onnx'), meanModel());
    const { openSmartTurn, openTurnDetector } = openSpeech({ SMART_TURN: 'local' }, directory);
    expect(await openTurnDetector('en')).toBeUndefined();
    const judge = await openSmartTurn();
    expect(await judge?.judge(new Float32Array(16_000))).toBeCloseTo(-1.5, 3);
    const tone = Float32Array.from({ length: 10 * 16_000 }, (_, index) => Math.sin(index / 3));
    expect(await judge?.judge(tone)).toBeGreaterThan(-1);
  });
});
