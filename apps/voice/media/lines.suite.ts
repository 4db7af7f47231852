import { FakeClock, waitFor } from '@trunkline/testing';
import type { Line, LineMessage } from '../call/line.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { User } from '../users/user.ts';
import { startVoice, type VoiceSetup } from '../voice.suite.ts';

/** A line that has opened, and all that came over it. */
export interface TestLine extends Line {
  user: User;
  heard: AudioFrame[];
  told: LineMessage[];
  /** Why it was closed; undefined while it is open. */
  ended: string | undefined;
}

/** The service, with every line that opens collected instead of talked to. */
export async function startLines(setup: VoiceSetup = {}) {
  const lines: TestLine[] = [];
  const converse = (line: Line, user: User) => void lines.push(watch(line, user));
  const voice = await startVoice({ ...setup, substitutes: { converse, ...setup.substitutes } });
  const atStart = voice.lines.length;
  const since = () => voice.lines.slice(atStart);
  return {
    voice,
    lines,
    line: () => waitFor(() => lines.at(-1)),
    /** Since the service has started. */
    warnings: () => since().flatMap(({ level, message }) => (level === 'warn' ? message : [])),
  };
}

/** The same with a clock that the test moves. */
export async function startLinesByHand(setup: VoiceSetup = {}) {
  const clock = new FakeClock(0);
  return { clock, ...(await startLines({ ...setup, substitutes: { clock } })) };
}

function watch(line: Line, user: User): TestLine {
  const watched: TestLine = Object.assign(line, { user, heard: [], told: [], ended: undefined });
  line.onAudio((frame) => watched.heard.push(frame));
  line.onMessage((message) => watched.told.push(message));
  line.onClose((reason) => {
    watched.ended = reason;
  });
  return watched;
}

export function tone(hertz: number, sampleRate: number, seconds: number): AudioFrame {
  const samples = Int16Array.from({ length: sampleRate * seconds }, (_, index) =>
    Math.round(9000 * Math.sin((2 * Math.PI * hertz * index) / sampleRate)),
  );
  return { samples, sampleRate };
}

/** The pitch of the last frames, by the crossings of zero; 0 in silence. */
export function pitch(frames: readonly AudioFrame[]): number {
  const recent = frames.slice(-20);
  const samples = recent.flatMap((frame) => [...frame.samples]);
  if (Math.max(0, ...samples) < 500) return 0;
  const crossings = samples.filter((sample, index) => sample >= 0 && (samples[index - 1] ?? 0) < 0).length;
  return crossings / (samples.length / (recent[0]?.sampleRate ?? 1));
}
