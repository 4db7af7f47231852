// The sound of one call in the browser: levels, microphone, push-to-talk and loudspeaker.

import { readStored, writeStored } from '@trunkline/ui';
import { useEffect, useState } from 'react';
import type { Levels } from '../orb/motion.ts';
import { CallProblem, type ProblemCode, problemOf } from './problems.ts';

const NAMES = {
  pushToTalk: 'trunkline.voice.push-to-talk',
  microphoneId: 'trunkline.voice.microphone',
  loudspeakerId: 'trunkline.voice.loudspeaker',
  language: 'trunkline.voice.language',
} as const;

const NONE: Devices = { microphones: [], loudspeakers: [] };

/** Speech from this long before the button is pressed is still sent, so that the first word is not lost. */
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

  /** The microphone, or what the talk button lets through. */
  track(pushToTalk: boolean): MediaStreamTrack | undefined {
    return pushToTalk ? this.#gate?.track : this.#microphone?.getAudioTracks()[0];
  }

  talk(down: boolean): void {
    if (down) this.#gate?.open();
    else this.#gate?.close();
  }

  mute(muted: boolean): void {
    for (const track of this.#microphone?.getAudioTracks() ?? []) track.enabled = !muted;
  }

  play(stream: MediaStream): void {
    this.#player.srcObject = stream;
    this.#player.muted = false;
    this.#voiceSource?.disconnect();
    this.#voiceSource = this.#context.createMediaStreamSource(stream);
    this.#voice = analyser(this.#context);
    this.#voiceSource.connect(this.#voice);
    void this.#context.resume();
  }

  /** Cuts off what has arrived and is not heard yet. */
  silence(): void {
    this.#player.muted = true;
  }

  unsilence(): void {
    this.#player.muted = false;
  }

  /** Does nothing if the browser cannot choose the loudspeaker. */
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

// The microphone runs through a short delay, so that the opened gate first lets out what was said before.
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
    // What was said until now is still in the delay.
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

/** Opens the chosen microphone, else the browser's default; throws a CallProblem. */
export async function openMicrophone(deviceId: string | undefined): Promise<MediaStream> {
  // Missing on insecure pages, whatever the types say.
  const devices: MediaDevices | undefined = navigator.mediaDevices;
  if (devices === undefined) throw new CallProblem(problemOf('insecure-origin'));
  try {
    return await devices.getUserMedia({ audio: constraints(deviceId) });
  } catch (error) {
    // It may be unplugged by now.
    if (deviceId !== undefined && nameOf(error) === 'OverconstrainedError') return openMicrophone(undefined);
    throw new CallProblem(problemOf(codeOf(error)), error);
  }
}

export function closeStream(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

function constraints(deviceId: string | undefined): MediaTrackConstraints {
  return {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    channelCount: 1,
    ...(deviceId !== undefined && { deviceId: { exact: deviceId } }),
  };
}

function codeOf(error: unknown): ProblemCode {
  const name = nameOf(error);
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return 'no-microphone';
  return name === 'NotAllowedError' || name === 'SecurityError' ? 'microphone-refused' : 'microphone-busy';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

interface Devices {
  microphones: readonly MediaDeviceInfo[];
  loudspeakers: readonly MediaDeviceInfo[];
}

/** Browsers name devices only after the microphone was allowed. */
export function useDevices(isLive: boolean): Devices {
  const [devices, setDevices] = useState(NONE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a call that begins makes the names known
  useEffect(() => {
    const source: MediaDevices | undefined = navigator.mediaDevices;
    if (source === undefined) return;
    const leaving = new AbortController();
    const look = async () => {
      const found = await source.enumerateDevices();
      if (!leaving.signal.aborted) setDevices(sorted(found));
    };
    void look();
    source.addEventListener('devicechange', () => void look(), { signal: leaving.signal });
    return () => leaving.abort();
  }, [isLive]);
  return devices;
}

function sorted(found: readonly MediaDeviceInfo[]): Devices {
  const named = (kind: MediaDeviceKind) =>
    found.filter((device) => device.kind === kind && device.label !== '');
  return { microphones: named('audioinput'), loudspeakers: named('audiooutput') };
}

/** What a caller has chosen in this browser. */
export interface CallSettings {
  pushToTalk: boolean;
  microphoneId: string | undefined;
  loudspeakerId: string | undefined;
  /** A code such as `es`; undefined: the skill's or the account's, or as it is heard. */
  language: string | undefined;
}

export function useCallSettings(): [CallSettings, (change: Partial<CallSettings>) => void] {
  const [settings, setSettings] = useState(storedSettings);
  const change = (part: Partial<CallSettings>) => {
    const next = { ...settings, ...part };
    writeStored(NAMES.pushToTalk, next.pushToTalk ? 'on' : null);
    writeStored(NAMES.microphoneId, next.microphoneId ?? null);
    writeStored(NAMES.loudspeakerId, next.loudspeakerId ?? null);
    writeStored(NAMES.language, next.language ?? null);
    setSettings(next);
  };
  return [settings, change];
}

function storedSettings(): CallSettings {
  return {
    pushToTalk: readStored(NAMES.pushToTalk) === 'on',
    microphoneId: readStored(NAMES.microphoneId) ?? undefined,
    loudspeakerId: readStored(NAMES.loudspeakerId) ?? undefined,
    language: readStored(NAMES.language) ?? undefined,
  };
}
