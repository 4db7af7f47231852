import { Buffer } from 'node:buffer';
import {
  launchBrowser,
  type ModelScript,
  recordSound,
  startModelServer,
  type TestPage,
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

/** All four services as one process, a browser, and a person with a voice and ears; the model alone is scripted. */
export async function openStage(script: ModelScript) {
  const home = temporaryDirectory();
  const voices = await openLocalVoices('am_michael');
  const model = await startModelServer({ script });
  // Says a text the same way every time, unlike Piper.
  const environment = { INPROC_VOICE: 'af_heart' };
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
      await model.stop();
      await voices.close();
      home.remove();
    },
  };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;

type Page = TestPage['page'];

interface PageMicrophone {
  /** Speaks a WAV file into the microphone; ends when all of it was said. */
  say(wav: Buffer): Promise<void>;
}

/** From now on the page's microphone hears what the test says, and else the faint noise of a quiet room. */
async function fakeMicrophone(page: Page): Promise<PageMicrophone> {
  await page.evaluate(installMicrophone);
  return { say: (wav) => page.evaluate(sayAloud, wav.toString('base64')) };
}

interface Room {
  context: AudioContext;
  microphone: MediaStreamAudioDestinationNode;
}

/** Runs in the page. */
function installMicrophone(): void {
  const context = new AudioContext();
  const microphone = context.createMediaStreamDestination();
  const noise = new AudioBuffer({ length: context.sampleRate, sampleRate: context.sampleRate });
  noise.copyToChannel(
    Float32Array.from({ length: noise.length }, () => (Math.random() - 0.5) / 1000),
    0,
  );
  const hum = new AudioBufferSourceNode(context, { buffer: noise, loop: true });
  hum.connect(microphone);
  hum.start();
  const room: Room = { context, microphone };
  Reflect.set(globalThis, 'room', room);
  navigator.mediaDevices.getUserMedia = async () => microphone.stream.clone();
}

/** Runs in the page. */
async function sayAloud(wav: string): Promise<void> {
  const { context, microphone } = Reflect.get(globalThis, 'room') as Room;
  await context.resume();
  const bytes = Uint8Array.from(atob(wav), (letter) => letter.charCodeAt(0));
  const buffer = await context.decodeAudioData(bytes.buffer);
  const voice = new AudioBufferSourceNode(context, { buffer });
  voice.connect(microphone);
  await new Promise((resolve) => {
    voice.addEventListener('ended', resolve, { once: true });
    voice.start();
  });
}
