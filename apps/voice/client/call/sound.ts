// The sound of one call in the browser: how loud both sides are, what of the microphone is sent, and the loudspeaker.
import type { Levels } from '../orb/motion.ts';

/** What was said this long before the button went down is still sent, so that the first word is never lost. */
const PRE_ROLL_SECONDS = 0.4;
const SAMPLES = 512;
/** Loudness from a quiet room to a near voice, in decibels. */
const QUIET_DB = -52;
const LOUD_DB = -14;

export class CallSound {
  readonly #context = new AudioContext({ latencyHint: 'interactive' });
  readonly #player = new Audio();
  readonly #microphone: MediaStream | undefined;
  readonly #ear: AnalyserNode | undefined;
  readonly #gate: TalkGate | undefined;
  #voice: AnalyserNode | undefined;
  #voiceSource: MediaStreamAudioSourceNode | undefined;

  constructor(microphone: MediaStream | undefined) {
    this.#microphone = microphone;
    this.#player.autoplay = true;
    if (microphone === undefined) return;
    const source = this.#context.createMediaStreamSource(microphone);
    this.#ear = analyser(this.#context);
    source.connect(this.#ear);
    this.#gate = createGate(this.#context, source);
  }

  /** What is sent: the microphone itself, or what the talk button lets through of it. */
  track(pushToTalk: boolean): MediaStreamTrack | undefined {
    return pushToTalk ? this.#gate?.track : this.#microphone?.getAudioTracks()[0];
  }

  /** Opens or closes the talk button's gate. */
  talk(down: boolean): void {
    if (down) this.#gate?.open();
    else this.#gate?.close();
  }

  mute(muted: boolean): void {
    for (const track of this.#microphone?.getAudioTracks() ?? []) track.enabled = !muted;
  }

  /** Plays what the service says. */
  play(stream: MediaStream): void {
    this.#player.srcObject = stream;
    this.#voiceSource?.disconnect();
    this.#voiceSource = this.#context.createMediaStreamSource(stream);
    this.#voice = analyser(this.#context);
    this.#voiceSource.connect(this.#voice);
    void this.#context.resume();
  }

  /** Chooses the loudspeaker, where the browser allows that. */
  async playOn(deviceId: string): Promise<void> {
    if ('setSinkId' in this.#player) await this.#player.setSinkId(deviceId);
  }

  levels(): Levels {
    return { ear: loudness(this.#ear), voice: loudness(this.#voice) };
  }

  async close(): Promise<void> {
    this.#player.srcObject = null;
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    await this.#context.close();
  }
}

interface TalkGate {
  track: MediaStreamTrack | undefined;
  open(): void;
  close(): void;
}

// The microphone runs through a short delay: what the opened gate lets out first was said before it was opened.
function createGate(context: AudioContext, source: AudioNode): TalkGate {
  const delay = context.createDelay(1);
  const gate = context.createGain();
  const output = context.createMediaStreamDestination();
  delay.delayTime.value = PRE_ROLL_SECONDS;
  gate.gain.value = 0;
  source.connect(delay).connect(gate).connect(output);
  const set = (value: number, at: number) => {
    gate.gain.cancelScheduledValues(context.currentTime);
    gate.gain.setTargetAtTime(value, at, 0.005);
  };
  return {
    track: output.stream.getAudioTracks()[0],
    open: () => set(1, context.currentTime),
    // What was said until now is still on its way through the delay.
    close: () => set(0, context.currentTime + PRE_ROLL_SECONDS),
  };
}

function analyser(context: AudioContext): AnalyserNode {
  const node = context.createAnalyser();
  node.fftSize = SAMPLES;
  return node;
}

const samples = new Float32Array(SAMPLES);

/** How loud it is now, from 0 to 1. */
export function loudness(node: AnalyserNode | undefined): number {
  if (node === undefined) return 0;
  node.getFloatTimeDomainData(samples);
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / SAMPLES;
  const decibels = 10 * Math.log10(power + 1e-12);
  return Math.min(1, Math.max(0, (decibels - QUIET_DB) / (LOUD_DB - QUIET_DB)));
}
