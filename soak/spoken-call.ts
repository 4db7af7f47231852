import { Buffer } from 'node:buffer';
import {
  fakeMicrophone,
  launchBrowser,
  type ModelScript,
  recordSound,
  startModelServer,
  startSpeechServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { onTestFinished } from 'vitest';
import { openLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { encodeWav } from '../apps/voice/speech/audio/wav.ts';
import { createFleet } from './fleet.ts';

/** Asked seldom: page and test share the processor with two voices. */
const patience = { timeoutMs: 120_000, intervalMs: 250 };
const rate = 16_000;
/** Of what a speech endpoint sends. */
const endpointRate = 24_000;

/**
 * All four services as one process, a browser, and a person with a voice and ears; the model alone is scripted. Both
 * speak with Kokoro, or with Piper, the bot's by way of an endpoint, which takes much less processor time. So all of them say a
 * text the same way every time, as Piper does not within the service.
 */
export async function openStage(script: ModelScript, voice: 'kokoro' | 'endpoint') {
  const home = temporaryDirectory();
  const voices = await openLocalVoices(voice === 'kokoro' ? 'am_michael' : undefined);
  const model = await startModelServer({ script });
  const endpoint = await startSpeechServer({
    speech: async (text) => [new Uint8Array((await voices.speak(text, endpointRate)).buffer)],
  });
  const environment: Record<string, string> =
    voice === 'kokoro'
      ? { INPROC_VOICE: 'af_heart' }
      : { TTS_BACKEND: 'compat', TTS_COMPAT_URL: endpoint.url };
  const fleet = await createFleet({ home: home.path, modelUrl: model.url, environment });
  const browser = await launchBrowser({ args: ['--autoplay-policy=no-user-gesture-required'] });
  return {
    model,
    fleet,
    /** A text in the person's voice. */
    async spoken(text: string): Promise<Buffer> {
      const samples = await voices.open().sounds.speech(text);
      return Buffer.from(encodeWav(new Uint8Array(samples.buffer), rate));
    },
    /** Opens the voice page and calls; the page is closed after the test. */
    async call() {
      // An orb that moves would be drawn by the processor that has to speak and to listen.
      const { page, problems, close } = await browser.open(fleet.urls.voice, {
        serviceWorkers: 'block',
        reducedMotion: 'reduce',
      });
      onTestFinished(close);
      const orb = page.locator('[data-orb-button]');
      await orb.waitFor();
      const sound = await recordSound(page);
      const microphone = await fakeMicrophone(page);
      await orb.click();
      await page.getByRole('status').getByText('Listening').first().waitFor();
      const captions = page.getByRole('list', { name: 'Conversation' });
      const said = (who: 'you' | 'assistant') => captions.locator(`[data-who=${who}]`).allTextContents();
      let heardUntil = 0;
      return {
        problems,
        said,
        say: microphone.say,
        /** What is heard since the last time, once the captions show these words and all of it has sounded. */
        async hears(words: RegExp): Promise<string> {
          await waitFor(async () => words.test((await said('assistant')).join(' ')), patience);
          await waitFor(async () => Number(await sound.quietMs()) < 500, patience);
          // A busy machine may take longer than that between two sentences; the page shows that it is still speaking.
          const speaking = page.getByRole('status').getByText('Speaking');
          await waitFor(
            async () => Number(await sound.quietMs()) > 2000 && (await speaking.count()) === 0,
            patience,
          );
          const { samples, sampleRate } = await sound.samples();
          const fresh = samples.subarray(heardUntil);
          heardUntil = samples.length;
          return voices.transcribe([{ samples: fresh, sampleRate }]);
        },
      };
    },
    async close() {
      await browser.close();
      await fleet.kill();
      await Promise.all([model.stop(), endpoint.stop()]);
      await voices.close();
      home.remove();
    },
  };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;
