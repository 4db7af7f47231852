// A call from the shipped page in Chromium: what goes into its microphone and what comes out of its loudspeaker, on one clock.
import { Buffer } from 'node:buffer';
import {
  fakeMicrophone,
  type PageRoom,
  type SoundSpan,
  type TestBrowser,
  type TestPage,
  waitFor,
} from '@trunkline/testing';
import { toInt16 } from '../../apps/voice/speech/audio/samples.ts';
import { encodeWav } from '../../apps/voice/speech/audio/wav.ts';

type Page = TestPage['page'];

/** What the page has played so far. */
export interface Heard {
  /** Root mean square of each 5 ms, from 0 to 1; 0 while the player is muted. */
  levels: number[];
  /** Of the first of them, on the page's sound clock, in seconds. */
  from: number;
  messages: PageMessage[];
  /** How much of the real time the page's sound clock kept: below 1 the machine is too busy to play in time. */
  pace: number;
}

interface PageMessage {
  /** On the page's sound clock, in seconds. */
  at: number;
  type: string;
  data: Record<string, unknown>;
}

export const levelMs = 5;
/** Models load when the first caller comes. */
const startLimitMs = 180_000;

interface Ear extends Omit<Heard, 'pace'> {
  windowMs: number;
  /** By the page's clock. */
  installedAt: number;
  mutes: { at: number; muted: boolean }[];
}

/** Opens the page and calls. Its content policy is off, as it refuses the module that listens. */
export async function openPageCall(browser: TestBrowser, url: string) {
  const { page, close } = await browser.open(url, {
    serviceWorkers: 'block',
    reducedMotion: 'reduce',
    bypassCSP: true,
  });
  const orb = page.locator('[data-orb-button]');
  await orb.waitFor();
  const microphone = await fakeMicrophone(page);
  await page.evaluate(installEar, levelMs);
  await orb.click();
  const listening = page.getByRole('status').getByText('Listening').first();
  const refusal = page.getByRole('alert').first();
  await listening.or(refusal).first().waitFor({ timeout: startLimitMs });
  if (await refusal.isVisible()) throw new Error(`no call: ${await refusal.innerText()}`);
  // Models that load meanwhile keep what is said, and answer it late.
  await waitFor(async () => isReady(await heardOn(page)), { timeoutMs: startLimitMs, intervalMs: 250 });
  return {
    /** Hangs up first: a line that breaks is kept for a minute. */
    async close(): Promise<void> {
      await page.getByRole('button', { name: 'End the call' }).last().click();
      await page.getByRole('status').getByText('Tap to talk').first().waitFor({ timeout: startLimitMs });
      await close();
    },
    say: (samples: Float32Array, sampleRate: number): Promise<SoundSpan> =>
      microphone.say(Buffer.from(encodeWav(new Uint8Array(toInt16(samples).buffer), sampleRate))),
    heard: () => heardOn(page),
  };
}

function isReady({ levels, messages }: Heard): boolean {
  const states = messages.flatMap(({ type, data }) => (type === 'server-message' ? [data.type] : []));
  const isLoading = states.lastIndexOf('speech-loading') > states.lastIndexOf('speech-ready');
  return levels.length > 0 && messages.some(({ type }) => type === 'bot-ready') && !isLoading;
}

async function heardOn(page: Page): Promise<Heard> {
  const { levels, from, messages, pace, mutes } = await page.evaluate(() => {
    const ear = Reflect.get(globalThis, 'ear') as Ear;
    return { ...ear, pace: (ear.levels.length * ear.windowMs) / (performance.now() - ear.installedAt) };
  });
  const isMuted = (index: number) =>
    mutes.findLast(({ at }) => at <= from + (index * levelMs) / 1000)?.muted === true;
  return { levels: levels.map((level, index) => (isMuted(index) ? 0 : level)), from, messages, pace };
}

/** Runs in the page: measures what its calls receive, notes when the player is muted, and keeps what the service sends. */
async function installEar(windowMs: number): Promise<void> {
  const { context } = Reflect.get(globalThis, 'room') as PageRoom;
  const ear: Ear = { levels: [], from: 0, messages: [], windowMs, installedAt: 0, mutes: [] };
  Reflect.set(globalThis, 'ear', ear);
  const source = `registerProcessor('ear', class extends AudioWorkletProcessor {
    power = 0; count = 0; heard = 0; all = 0; levels = []; from = currentTime;
    process([[samples]]) {
      for (let index = 0; index < 128; index += 1) {
        const sample = samples?.[index] ?? 0;
        this.power += sample * sample;
        this.count += 1;
        this.heard += 1;
        // 5 ms are no whole number of samples at 44.1 kHz.
        if (this.heard < (this.all + 1) * sampleRate * ${windowMs / 1000}) continue;
        this.all += 1;
        this.levels.push(Math.sqrt(this.power / this.count));
        this.power = this.count = 0;
      }
      if (this.levels.length >= 10) this.port.postMessage({ from: this.from, levels: this.levels.splice(0) });
      return true;
    }
  })`;
  const module = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  await context.audioWorklet.addModule(module);
  const node = new AudioWorkletNode(context, 'ear');
  node.port.addEventListener('message', ({ data }: MessageEvent<{ from: number; levels: number[] }>) => {
    ear.from = data.from;
    ear.levels.push(...data.levels);
  });
  node.port.start();
  await context.resume();
  ear.installedAt = performance.now();

  const muted = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, 'muted');
  Object.defineProperty(HTMLMediaElement.prototype, 'muted', {
    ...muted,
    set(value: boolean) {
      ear.mutes.push({ at: context.currentTime, muted: value });
      muted?.set?.call(this, value);
    },
  });

  type Describe = (description: RTCSessionDescriptionInit) => Promise<void>;
  const describe: Describe = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description: RTCSessionDescriptionInit) {
    this.addEventListener('track', ({ track }) => {
      if (track.kind === 'audio') context.createMediaStreamSource(new MediaStream([track])).connect(node);
    });
    this.addEventListener('datachannel', ({ channel }) =>
      channel.addEventListener('message', ({ data }) => {
        if (!String(data).startsWith('{')) return;
        const { type, data: fields = {} } = JSON.parse(String(data)) as PageMessage;
        ear.messages.push({ at: context.currentTime, type, data: fields });
      }),
    );
    return describe.call(this, description);
  };
}
