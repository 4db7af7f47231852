import type { Page } from 'playwright-core';

export interface PageSound {
  /** How much of what came ended in silence, in milliseconds of sound; nothing before the first loud sample. */
  quietMs(): Promise<number | undefined>;
  /** All that came over the line so far, one channel. */
  samples(): Promise<{ samples: Int16Array; sampleRate: number }>;
}

interface Recorder {
  parts: Int16Array[];
  sampleRate: number;
  quietSamples: number | undefined;
}

/** Keeps every sound that the page's calls receive from now on, as it comes off the line. */
export async function recordSound(page: Page): Promise<PageSound> {
  await page.evaluate(installRecorder);
  return {
    quietMs: () => page.evaluate(quietMsOfRecorder),
    async samples() {
      const { bytes, sampleRate } = await page.evaluate(bytesOfRecorder);
      const { buffer } = Uint8Array.from(Buffer.from(bytes, 'base64'));
      return { samples: new Int16Array(buffer), sampleRate };
    },
  };
}

/** Runs in the page. */
function installRecorder(): void {
  const loud = 500;
  const recorder: Recorder = { parts: [], sampleRate: 48_000, quietSamples: undefined };
  Reflect.set(globalThis, 'recorder', recorder);
  type Describe = (description: RTCSessionDescriptionInit) => Promise<void>;
  const describe: Describe = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description: RTCSessionDescriptionInit) {
    this.addEventListener('track', ({ track }) => {
      if (track.kind === 'audio') void record(track);
    });
    return describe.call(this, description);
  };

  async function record(track: MediaStreamTrack): Promise<void> {
    const Processor = Reflect.get(globalThis, 'MediaStreamTrackProcessor') as new (options: {
      track: MediaStreamTrack;
      maxBufferSize: number;
    }) => { readable: ReadableStream<AudioData> };
    const reader = new Processor({ track, maxBufferSize: 3000 }).readable.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) keep(next.value);
  }

  function keep(sound: AudioData): void {
    const plane = new Float32Array(sound.numberOfFrames);
    sound.copyTo(plane, { planeIndex: 0, format: 'f32-planar' });
    recorder.sampleRate = sound.sampleRate;
    sound.close();
    const samples = Int16Array.from(plane, (sample) =>
      Math.round(Math.max(-1, Math.min(1, sample)) * 32_767),
    );
    recorder.parts.push(samples);
    if (samples.some((sample) => Math.abs(sample) > loud)) recorder.quietSamples = 0;
    else if (recorder.quietSamples !== undefined) recorder.quietSamples += samples.length;
  }
}

/** Runs in the page. */
function quietMsOfRecorder(): number | undefined {
  const { quietSamples, sampleRate } = Reflect.get(globalThis, 'recorder') as Recorder;
  return quietSamples === undefined ? undefined : (quietSamples * 1000) / sampleRate;
}

/** Runs in the page: numbers travel slowly one by one, so they go as text. */
async function bytesOfRecorder(): Promise<{ bytes: string; sampleRate: number }> {
  const { parts, sampleRate } = Reflect.get(globalThis, 'recorder') as Recorder;
  const reader = new FileReader();
  const read = new Promise((resolve) => reader.addEventListener('load', resolve, { once: true }));
  reader.readAsDataURL(new Blob(parts as BlobPart[]));
  await read;
  return { bytes: String(reader.result).replace(/^[^,]*,/, ''), sampleRate };
}

/** A stretch of the page's sound clock, in seconds. */
export interface SoundSpan {
  from: number;
  to: number;
}

export interface PageMicrophone {
  /** Speaks a WAV file into the microphone; ends when all of it was said. */
  say(wav: Buffer): Promise<SoundSpan>;
}

/** From now on the page's microphone hears what the test says, and else the faint noise of a quiet room. */
export async function fakeMicrophone(page: Page): Promise<PageMicrophone> {
  await page.evaluate(installMicrophone);
  return { say: (wav) => page.evaluate(sayAloud, wav.toString('base64')) };
}

/** `room` of the page's globals. Its context is the sound clock. */
export interface PageRoom {
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
  const room: PageRoom = { context, microphone };
  Reflect.set(globalThis, 'room', room);
  navigator.mediaDevices.getUserMedia = async () => microphone.stream.clone();
}

/** Runs in the page. */
async function sayAloud(wav: string): Promise<SoundSpan> {
  const { context, microphone } = Reflect.get(globalThis, 'room') as PageRoom;
  await context.resume();
  const bytes = Uint8Array.from(atob(wav), (letter) => letter.charCodeAt(0));
  const buffer = await context.decodeAudioData(bytes.buffer);
  const voice = new AudioBufferSourceNode(context, { buffer });
  voice.connect(microphone);
  // A start in the past would be moved to now.
  const from = context.currentTime + 0.1;
  await new Promise((resolve) => {
    voice.addEventListener('ended', resolve, { once: true });
    voice.start(from);
  });
  return { from, to: from + buffer.duration };
}
