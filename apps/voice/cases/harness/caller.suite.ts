import type { Line, LineMessage, Speaker } from '../../call/line.ts';
import { StreamResampler } from '../../speech/audio/resample.ts';
import type { AudioFrame } from '../../speech/audio/samples.ts';

const rate = 16_000;
const frameMs = 10;
const frameSamples = (rate * frameMs) / 1000;

/** A caller without a network: 10 ms at a time, what they say goes in and what they hear comes out. */
export class SyntheticCaller implements Line {
  readonly id: string;
  readonly speaker: SyntheticSpeaker;
  readonly #now: () => number;
  readonly #audio: ((frame: AudioFrame) => void)[] = [];
  readonly #messages: ((message: LineMessage) => void)[] = [];
  readonly #closed: ((reason: string) => void)[] = [];
  readonly received: { at: number; message: LineMessage }[] = [];
  /** What was received, as lines: conditions read them every 10 ms. */
  readonly events: string[] = [];
  readonly #receivers: ((message: LineMessage) => void)[] = [];
  #saying: Int16Array[] = [];
  readonly #resampler = new StreamResampler(rate);
  readonly #coming: number[] = [];
  muted = false;
  /** Share of what is heard that comes back through the microphone. */
  echo = false;
  /** A microphone in a room is never quite still. */
  hiss = 4;
  isClosed = false;

  constructor(id: string, now: () => number) {
    this.id = id;
    this.#now = now;
    this.speaker = new SyntheticSpeaker();
  }

  onAudio(listener: (frame: AudioFrame) => void): void {
    this.#audio.push(listener);
  }

  send(message: LineMessage): void {
    const at = this.#now();
    this.received.push({ at, message });
    this.events.push(`${Math.round(at)} ${message.type} ${JSON.stringify(message.data ?? '')}`);
    for (const receiver of this.#receivers) receiver(message);
  }

  onReceive(receiver: (message: LineMessage) => void): void {
    this.#receivers.push(receiver);
  }

  /** The texts of the messages of this type, in order. */
  texts(type: LineMessage['type']): string[] {
    const chosen = this.received.filter(({ message }) => message.type === type);
    return chosen.map(({ message }) => (message.data as { text: string }).text);
  }

  /** All sentences that were said to the caller, as one text. */
  heard(): string {
    return this.texts('bot-tts-text').join(' ');
  }

  onMessage(listener: (message: LineMessage) => void): void {
    this.#messages.push(listener);
  }

  onClose(listener: (reason: string) => void): void {
    this.#closed.push(listener);
  }

  close(reason: string, lastWords?: LineMessage): void {
    if (this.isClosed) return;
    if (lastWords !== undefined) this.send(lastWords);
    this.isClosed = true;
    for (const listener of this.#closed) listener(reason);
  }

  tell(message: LineMessage): void {
    for (const listener of this.#messages) listener(message);
  }

  say(samples: Int16Array): void {
    this.#saying.push(samples);
  }

  get isSaying(): boolean {
    return this.#saying.length > 0;
  }

  /** Lets 10 ms pass. */
  pass(): void {
    if (this.isClosed) return;
    const heard = this.speaker.play();
    const samples = this.#next();
    if (this.echo && heard !== undefined) this.#echo(heard, samples);
    if (this.muted) samples.fill(0);
    for (const listener of this.#audio) listener({ samples, sampleRate: rate });
  }

  /** What is heard comes back, softer where it is a real voice. */
  #echo(heard: AudioFrame, samples: Int16Array): void {
    const back = this.#resampler.push(heard).samples;
    const share = heard.sampleRate === rate ? 1 : 0.3;
    this.#coming.push(...back.map((sample) => sample * share));
    const echo = this.#coming.splice(0, samples.length);
    if (this.#isStill(samples)) samples.set(echo);
  }

  #isStill(samples: Int16Array): boolean {
    return samples.every((sample) => Math.abs(sample) <= this.hiss);
  }

  #next(): Int16Array {
    const samples = new Int16Array(frameSamples).fill(this.hiss);
    const [current] = this.#saying;
    if (current === undefined) return samples;
    samples.set(current.subarray(0, frameSamples));
    this.#saying[0] = current.subarray(frameSamples);
    if (this.#saying[0].length === 0) this.#saying.shift();
    return samples;
  }
}

/** Plays 10 ms at a time; remembers when it made sound. */
export class SyntheticSpeaker implements Speaker {
  #queue: { samples: Int16Array; sampleRate: number }[] = [];
  readonly #drained: (() => void)[] = [];
  readonly #started: (() => void)[] = [];
  #sounding = false;
  playedMs = 0;
  paused = false;
  pauses = 0;
  ducked = false;
  ducks = 0;
  /** Takes nothing any more, as a line that is stuck. */
  stuck = false;
  readonly played: AudioFrame[] = [];
  #nextSound: (() => void) | undefined;
  #nextSilence: (() => void) | undefined;

  get queuedMs(): number {
    return this.#queue.reduce(
      (sum, { samples, sampleRate }) => sum + (samples.length / sampleRate) * 1000,
      0,
    );
  }

  get sounding(): boolean {
    return this.#sounding && !this.paused;
  }

  enqueue({ samples, sampleRate }: AudioFrame): void {
    if (samples.length > 0) this.#queue.push({ samples, sampleRate });
  }

  pause(): void {
    if (!this.paused && this.#sounding) this.pauses += 1;
    this.paused = true;
    this.#silenced();
  }

  resume(): void {
    this.paused = false;
  }

  clear(): void {
    this.#queue = [];
    this.#sounding = false;
    this.#silenced();
  }

  duck(isDucked: boolean): void {
    if (isDucked && !this.ducked && this.sounding) this.ducks += 1;
    this.ducked = isDucked;
  }

  onDrained(listener: () => void): void {
    this.#drained.push(listener);
  }

  onStarted(listener: () => void): void {
    this.#started.push(listener);
  }

  /** Told of the next sound, and of none after it. */
  onNextSound(listener: () => void): void {
    this.#nextSound = listener;
  }

  /** Told when the sound is paused or cut off for the next time. */
  onNextSilence(listener: () => void): void {
    this.#nextSilence = listener;
  }

  #silenced(): void {
    this.#nextSilence?.();
    this.#nextSilence = undefined;
  }

  play(): AudioFrame | undefined {
    const [current] = this.#queue;
    if (current === undefined || this.paused || this.stuck) return undefined;
    const count = (current.sampleRate * frameMs) / 1000;
    const samples = current.samples.subarray(0, count);
    this.played.push({ samples, sampleRate: current.sampleRate });
    current.samples = current.samples.subarray(count);
    if (current.samples.length === 0) this.#queue.shift();
    this.playedMs += (samples.length / current.sampleRate) * 1000;
    this.#nextSound?.();
    this.#nextSound = undefined;
    this.#tell();
    return { samples, sampleRate: current.sampleRate };
  }

  #tell(): void {
    if (!this.#sounding) {
      this.#sounding = true;
      for (const listener of this.#started) listener();
    }
    if (this.#queue.length > 0) return;
    this.#sounding = false;
    for (const listener of this.#drained) listener();
  }
}
