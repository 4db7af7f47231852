import { type SpeechServer, startSpeechServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toMono } from '../speech/audio/resample.ts';
import { toInt16 } from '../speech/audio/samples.ts';
import { type Kokoro, loadKokoro } from '../speech/synthesis/inprocess/kokoro/model.ts';
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
    /** What the endpoint hears in whatever it is sent. */
    let transcript = '';
    let server: SpeechServer;
    let voices: Awaited<ReturnType<typeof openLocalVoices>>;
    let kokoro: Kokoro;
    beforeAll(async () => {
      server = await startSpeechServer({ transcript: async () => transcript });
      const recognition = { STT_BACKEND: 'compat', STT_URL: server.url };
      voices = await openLocalVoices(undefined, undefined, recognition);
      kokoro = await loadKokoro(await loadOnnx());
    });
    afterAll(async () => {
      await voices.close();
      await server.stop();
    });

    /** Phonemes as espeak-ng writes them. The endpoint is told what was said; sound, length and loudness are real. */
    async function speaking(voice: string, asked: string) {
      const stage = new Stage({ answers, voices: () => voices.open() });
      onTestFinished(() => stage.close());
      await stage.call();
      const question = await stage.voices.sounds.speech(asked);
      /** Asks, and says this a while after the bot has begun to answer; then nobody speaks. */
      return async ([text = '', phonemes = '']: readonly string[], afterMs = 900) => {
        const spoken = { channels: [await kokoro.speak(phonemes, voice)], sampleRate: 24_000 };
        const said = leveled(toInt16(await toMono(spoken, 16_000)), question);
        const from = stage.caller.events.length;
        transcript = asked;
        await stage.sound(question);
        await stage.until(() => stage.caller.speaker.sounding);
        transcript = text;
        await stage.pass(afterMs);
        await stage.sound(said);
        await stage.until(() => !stage.caller.speaker.sounding);
        await stage.pass(2000);
        await stage.until(() => !stage.caller.speaker.sounding);
        return stage.caller.events.slice(from).join('\n');
      };
    }

    it.each([
      ['English', 'af_heart', ['Okay.', 'oʊkˈeɪ'], ['Wait.', 'wˈeɪt']],
      ['English, by other words', 'af_heart', ['I see.', 'aɪ sˈiː'], ['Stop!', 'stˈɑp']],
      ['English, by a name', 'af_heart', ['Okay.', 'oʊkˈeɪ'], ['Berlin.', 'bɜːlˈɪn']],
      ['Spanish', 'ef_dora', ['Vale, claro.', 'bˈale, klˈaɾo'], ['Espera.', 'espˈeɾa']],
      ['German', 'af_heart', ['Ja, genau.', 'jˈɑː, ɡənˈaʊ'], ['Nein.', 'nˈaɪn']],
    ])('in %s: a backchannel does not interrupt, an order does', async (_, voice, backchannel, order) => {
      const over = await speaking(voice, question);
      expect(await over(backchannel)).not.toContain('bot-interrupted');
      expect(await over(order)).toContain('bot-interrupted');
    });

    it('a yes after a question is answered, also when the bot has gone on', async () => {
      const over = await speaking('af_heart', 'Is there a table tonight?');
      expect(await over(['Yes.', 'jˈɛs'], 3600)).toContain('listening');
    });
  },
);
