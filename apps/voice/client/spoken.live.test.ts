import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkLooks,
  describeWithBrowser,
  startModelServer,
  startSidecarServer,
  waitFor,
} from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { tone } from '../media/lines.suite.ts';
import { decodeSound } from '../speech/audio/decode.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { startVoice } from '../voice.suite.ts';
import { captions, orb, PHONE, says, withBrowser } from './client.suite.ts';

const READING = join(import.meta.dirname, '../speech/recognition/fixtures/austen.ogg');
const SPOKEN_RATE = 44_100;

describeWithBrowser('a spoken exchange', () => {
  const { open } = withBrowser({ microphone: readingAfterSilence });

  it('is heard, answered with a tool, shown in captions and spoken back [V001]', async () => {
    const { samples } = tone(700, SPOKEN_RATE, 1);
    const sidecar = await startSidecarServer({ speech: [new Uint8Array(samples.buffer)] });
    const model = await startModelServer({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'That was a fine sentence.'
          : { toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }] },
    });
    onTestFinished(async () => {
      await Promise.all([sidecar.stop(), model.stop()]);
    });
    const env = {
      SIDECAR_URL: sidecar.url,
      TTS_BACKEND: 'sidecar',
      LLM_GATEWAY_URL: model.url,
      LLM_MODEL: 'test',
    };
    const voice = await startVoice({ env });
    const { page, problems } = await open(voice.url, PHONE);
    await page.evaluate(listenToSound);
    await orb(page).click();
    await says(page, 'Listening');
    const shown = captions(page);
    const mine = () => shown.locator('[data-who=you]').allTextContents();
    await waitFor(async () => /sense|family|dashwood|sussex|settled/i.test((await mine()).join(' ')), {
      timeoutMs: 60_000,
    });
    await shown.locator('[data-tool=calculator]').first().getByText('Done').waitFor();
    await shown.locator('[data-who=assistant]').getByText('That was a fine sentence.').first().waitFor();
    // What the page received is the voice of the sidecar.
    await page.waitForFunction(() => Number(Reflect.get(globalThis, 'loudest')) > 0.05, undefined, {
      timeout: 60_000,
    });
    await page.getByTitle('From your last word to the first of the answer').waitFor();
    expect((await voice.get('/api/metrics')).body).toMatchObject({ sessions_active: 1 });
    expect(problems).toEqual([]);
  });
});

describeWithBrowser('the microphone test of the setup', () => {
  const { open } = withBrowser({ microphone: reading });

  it('shows what the local recogniser understood, on a phone', async () => {
    const voice = await startVoice();
    const { page, problems } = await open(voice.url, PHONE);
    await page.goto(`${voice.url}/setup/speech`);
    await page.getByRole('button', { name: 'Test the microphone' }).click();
    // The recording ends by itself.
    await page.getByRole('button', { name: 'Done speaking' }).waitFor();
    const understood = page.getByText(/^Understood: /);
    await understood.waitFor();
    expect(await understood.textContent()).toMatch(/sense|family|dashwood|sussex|settled/i);
    await checkLooks({ page, problems, close: async () => undefined }, { axe: 'content' });
  });
});

/** The first words of the reading, round and round. */
async function reading(): Promise<AudioFrame> {
  const { channels, sampleRate } = await decodeSound(new Uint8Array(readFileSync(READING)), 60);
  const speech = (channels[0] ?? new Float32Array()).subarray(0, sampleRate * 10);
  return { samples: Int16Array.from(speech, (sample) => Math.round(sample * 30_000)), sampleRate };
}

/** Silence, the first words of the reading, and silence for the answer; round and round. */
async function readingAfterSilence(): Promise<AudioFrame> {
  const { channels, sampleRate } = await decodeSound(new Uint8Array(readFileSync(READING)), 60);
  const speech = (channels[0] ?? new Float32Array()).subarray(0, sampleRate * 4);
  const samples = new Int16Array(sampleRate * 21);
  speech.forEach((sample, index) => {
    samples[sampleRate * 8 + index] = Math.round(sample * 30_000);
  });
  return { samples, sampleRate };
}

/** Runs in the page: remembers how loud what it receives was at most. */
function listenToSound(): void {
  Reflect.set(globalThis, 'loudest', 0);
  type Describe = (description: RTCSessionDescriptionInit) => Promise<void>;
  const describe: Describe = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description: RTCSessionDescriptionInit) {
    this.addEventListener('track', ({ track }) => {
      if (track.kind !== 'audio') return;
      const context = new AudioContext();
      const analyser = new AnalyserNode(context, { fftSize: 1024 });
      context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
      const samples = new Float32Array(1024);
      setInterval(() => {
        analyser.getFloatTimeDomainData(samples);
        const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
        Reflect.set(globalThis, 'loudest', Math.max(Number(Reflect.get(globalThis, 'loudest')), loudest));
      }, 50);
    });
    return describe.call(this, description);
  };
}
