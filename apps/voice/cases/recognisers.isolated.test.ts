import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSpeechServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { decodeSound } from '../speech/audio/decode.ts';
import { toMono } from '../speech/audio/resample.ts';
import { toInt16 } from '../speech/audio/samples.ts';
import { decodeWav } from '../speech/audio/wav.ts';
import { startHearingServer } from '../speech/recognition/live/hearing-server.suite.ts';
import { checkWeights, weights } from '../speech/weights.ts';
import { hasLocalVoices, openLocalVoices } from './harness/local-voices.suite.ts';
import { Stage } from './harness/stage.suite.ts';

const whisper = weights.filter(({ purpose }) => purpose === 'recognition of many languages');
const states = await Promise.all(whisper.map((entry) => checkWeights(entry)));
const hasWhisper = states.every((state) => state === 'ready');
const spanish = join(import.meta.dirname, '../speech/recognition/fixtures/spanish.ogg');

let voices: Awaited<ReturnType<typeof openLocalVoices>>;

/** A call in which the other recognisers listen; Piper speaks for both. */
async function open(settings: Record<string, string>, answers: { to: string; text: string }[]) {
  const listening = voices.listeningBy(settings);
  const stage = new Stage({ answers, voices: () => listening.open() });
  onTestFinished(async () => {
    await stage.close();
    await listening.close();
  });
  await stage.call();
  return {
    stage,
    warnings: listening.warnings,
    /** Until the answer with this word in it was said to the end. */
    hears: async (word: string) => {
      const isSaid = (event: string) => event.includes('bot-tts-text') && event.includes(word);
      await stage.until(() => stage.caller.events.some(isSaid));
      await stage.until(() => !stage.caller.speaker.sounding);
    },
  };
}

/** Hears what was really sent, with the models of this machine. */
const hear = (samples: Float32Array) =>
  voices.transcribe([{ samples: toInt16(samples), sampleRate: 16_000 }]);

const questions = ['What is the capital of France?', 'And what is the capital of Italy?'] as const;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

describe.skipIf(!(await hasLocalVoices()))('a whole call', () => {
  beforeAll(async () => {
    voices = await openLocalVoices();
    // As the models of an endpoint are when a call comes.
    await voices.warm();
  });
  afterAll(() => voices.close());

  it('with an endpoint that listens: both turns are understood and answered', async () => {
    const server = await startSpeechServer({
      transcript: async (file) => hear(await toMono(decodeWav(file), 16_000)),
    });
    onTestFinished(() => server.stop());
    const { stage, hears } = await open({ STT_BACKEND: 'compat', STT_URL: server.url }, [
      { to: 'france', text: 'The capital of France is Paris.' },
      { to: 'italy', text: 'The capital of Italy is Rome.' },
    ]);
    await stage.say(questions[0]);
    await hears('Paris');
    await stage.say(questions[1]);
    await hears('Rome');
    expect(stage.logged).toEqual([]);
    const seconds = ({ length }: { length: number }) => length / 16_000;
    const sent = server.requests.map(
      ({ file }) => decodeWav(file?.bytes ?? new Uint8Array()).channels[0] ?? [],
    );
    const spoken = await Promise.all(questions.map(async (text) => stage.voices.sounds.speech(text)));
    // Interim transcripts send what was said so far again, within a budget.
    expect(sum(sent.map(seconds)) / sum(spoken.map(seconds))).toBeLessThan(4);
  });

  it.each(['deepgram', 'realtime'])(
    'with an endpoint that hears as one speaks, in the format %s',
    async (wire) => {
      const server = await startHearingServer(hear);
      onTestFinished(() => server.stop());
      const { stage, warnings, hears } = await open(
        { STT_BACKEND: 'compat', STT_URL: server.url, STT_STREAMING: wire },
        [
          { to: 'france', text: 'The capital of France is Paris.' },
          { to: 'italy', text: 'The capital of Italy is Rome.' },
        ],
      );
      await stage.say(questions[0]);
      await hears('Paris');
      await stage.say(questions[1]);
      await hears('Rome');
      expect([...stage.logged, ...warnings()]).toEqual([]);
      expect(server.opened.length).toBeGreaterThan(0);
      // All of it went over the connection, and no sound twice.
      expect(server.whole).toBe(0);
      const spoken = await Promise.all(questions.map(async (text) => stage.voices.sounds.speech(text)));
      const seconds = sum(spoken.map(({ length }) => length)) / 16_000;
      expect(server.seconds).toBeGreaterThan(0.8 * seconds);
      expect(server.seconds).toBeLessThan(1.8 * seconds);
    },
    600_000,
  );

  it('with an endpoint that fails is asked again, and goes on when the endpoint is back', async () => {
    const server = await startSpeechServer({ transcript: 'What is the capital of France?' });
    onTestFinished(() => server.stop());
    const { stage, hears } = await open({ STT_BACKEND: 'compat', STT_URL: server.url }, [
      { to: 'france', text: 'The capital of France is Paris.' },
    ]);
    server.fault = 503;
    await stage.say('What is the capital of France?');
    await stage.until(() => server.requests.length > 0);
    await stage.pass(10_000);
    server.fault = undefined;
    await stage.say('What is the capital of France?');
    await hears('Paris');
  });

  it.skipIf(!hasWhisper)(
    'with Whisper goes on in the language that it hears',
    async () => {
      // "Quiero una mesa para dos personas."
      const said = await decodeSound(readFileSync(spanish), 10);
      const { stage, hears } = await open({ STT_BACKEND: 'whisper' }, [
        { to: 'mesa', text: 'Claro, tengo mesa.' },
      ]);
      await stage.sound(toInt16(await toMono(said, 16_000)));
      await hears('tengo');
      expect(stage.caller.events.join('\n')).toMatch(/mesa para dos personas/i);
      expect(stage.logged).toEqual([]);
    },
    600_000,
  );
});
