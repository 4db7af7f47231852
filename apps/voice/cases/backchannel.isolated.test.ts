import { startSpeechServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toMono } from '../speech/audio/resample.ts';
import { toInt16 } from '../speech/audio/samples.ts';
import { loadKokoro } from '../speech/synthesis/inprocess/kokoro/model.ts';
import { loadOnnx } from '../speech/weights.ts';
import { hasLocalVoices, openLocalVoices } from './harness/local-voices.suite.ts';
import { Stage } from './harness/stage.suite.ts';

const question = 'What can I see in the museum?';
const story = 'The museum shows paintings from Italy, coins of many countries, and old clocks.';
const answers = [
  { to: 'museum', text: story },
  { to: 'table', text: 'There is a table at eight. Shall I book it? It is by the window, in the corner.' },
  { text: 'All right, I am listening.' },
];

async function call(settings: Record<string, string> = {}) {
  const voices = await openLocalVoices(undefined, undefined, settings);
  const stage = new Stage({ answers, voices: () => voices.open() });
  onTestFinished(async () => {
    await stage.close();
    await voices.close();
  });
  await stage.call();
  const speech = (text: string) => stage.voices.sounds.speech(text);
  return {
    speech,
    /** Says this 900 ms after the bot has begun to answer the question; then nobody speaks. */
    async saysOver(
      asked: Int16Array,
      said: Int16Array,
      afterMs = 900,
      onAnswer: () => void = () => undefined,
    ) {
      const from = stage.caller.events.length;
      await stage.sound(asked);
      await stage.until(() => stage.caller.speaker.sounding);
      onAnswer();
      await stage.pass(afterMs);
      await stage.sound(said);
      await stage.until(() => !stage.caller.speaker.sounding);
      await stage.pass(2000);
      await stage.until(() => !stage.caller.speaker.sounding);
      return stage.caller.events.slice(from).join('\n');
    },
  };
}

/** As loud as another sound: all of it is one caller's. */
function leveled(samples: Int16Array, like: Int16Array): Int16Array {
  const energy = (sound: Int16Array) =>
    sound.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, sound.length);
  const gain = Math.sqrt(energy(like) / energy(samples));
  return samples.map((sample) => Math.max(-32_000, Math.min(32_000, sample * gain)));
}

describe.skipIf(!(await hasLocalVoices()))(
  'a short word over the bot, by real voices',
  { timeout: 900_000 },
  () => {
    it('in English: a backchannel does not interrupt, an order and a name do', async () => {
      const { speech, saysOver } = await call();
      const asked = await speech(question);
      for (const word of ['Okay.', 'I see.'])
        expect(await saysOver(asked, await speech(word)), word).not.toContain('bot-interrupted');
      for (const word of ['Stop!', 'Berlin.'])
        expect(await saysOver(asked, await speech(word)), word).toContain('bot-interrupted');
    });

    it('a yes after a question is answered, also when the bot has gone on', async () => {
      const { speech, saysOver } = await call();
      const told = await saysOver(await speech('Is there a table tonight?'), await speech('Yes.'), 3600);
      expect(told).toContain('listening');
    });

    /** Phonemes as espeak-ng writes them. The endpoint is told what was said; sound, length and loudness are real. */
    it.each([
      ['Spanish', 'ef_dora', ['Vale, claro.', 'bˈale, klˈaɾo'], ['Espera.', 'espˈeɾa']],
      ['German', 'af_heart', ['Ja, genau.', 'jˈɑː, ɡənˈaʊ'], ['Nein.', 'nˈaɪn']],
    ])('in %s: a backchannel does not interrupt, an order does', async (_, voice, backchannel, order) => {
      let transcript = question;
      const server = await startSpeechServer({ transcript: async () => transcript });
      onTestFinished(() => server.stop());
      const { speech, saysOver } = await call({ STT_BACKEND: 'compat', STT_URL: server.url });
      const asked = await speech(question);
      const kokoro = await loadKokoro(await loadOnnx());
      const over = async ([text = '', phonemes = '']: readonly string[]) => {
        const spoken = { channels: [await kokoro.speak(phonemes, voice)], sampleRate: 24_000 };
        const said = leveled(toInt16(await toMono(spoken, 16_000)), asked);
        transcript = question;
        return saysOver(asked, said, 900, () => {
          transcript = text;
        });
      };
      expect(await over(backchannel)).not.toContain('bot-interrupted');
      expect(await over(order)).toContain('bot-interrupted');
    });
  },
);
