import type { Buffer } from 'node:buffer';
import type { TestPage } from '@trunkline/testing';

type Page = TestPage['page'];

export interface PageMicrophone {
  /** Speaks a WAV file into the microphone; ends when all of it was said. */
  say(wav: Buffer): Promise<void>;
}

/** From now on the page's microphone hears what the test says, and else the faint noise of a quiet room. */
export async function fakeMicrophone(page: Page): Promise<PageMicrophone> {
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
