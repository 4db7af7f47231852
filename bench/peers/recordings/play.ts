// Plays a trial to a product in real time, 10 ms by 10 ms, and notes when the product speaks.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome, Sound, Span, Speech, Transcript, Trial } from './trial.ts';

const rate = 16_000;
const tickMs = 10;
const tickSamples = (rate * tickMs) / 1000;
/** A microphone in a room is never quite still. */
const hiss = 4;
/** A call begins with silence. */
const leadMs = 700;
/** The answer has been heard so long when it is spoken over. LiveKit lets nothing interrupt in the first 3 s of a session's speech. */
const intoAnswerMs = 4000;
/** Longer than anybody waits with an answer. */
const longestWaitMs = 4000;
/** Longer than it takes to go on after a false interruption. */
const watchedMs = 3000;
const answerLimitMs = 20_000;

export interface Line {
  /** Takes 10 ms of the microphone, and gives what is spoken in the same 10 ms; undefined: silence. */
  pass(samples: Int16Array): Speech | undefined;
  /** What is understood has changed; `isFinal`: the sound is over. */
  onTranscript?(transcript: Transcript, isFinal: boolean): void;
}

/** The trials of a folder, to be asked for by id. */
export function readTrials(folder: string): Map<string, Trial> {
  const trials = JSON.parse(readFileSync(join(folder, 'trials.json'), 'utf8')) as Trial[];
  return new Map(trials.map((trial) => [trial.id, trial]));
}

export async function playTrial(folder: string, trial: Trial, line: Line): Promise<Outcome> {
  const began = performance.now();
  let [passed, latestMs, onsetAt] = [0, 0, 0];
  let spans: Span[] = [];
  const silence = new Int16Array(tickSamples).fill(hiss);
  const pass = async (samples: Int16Array) => {
    while (passed * tickMs > performance.now() - began) await delay(2);
    latestMs = Math.max(latestMs, performance.now() - began - passed * tickMs);
    passed += 1;
    const speech = line.pass(samples);
    if (speech !== undefined) extend(spans, speech, performance.now() - onsetAt);
  };
  const play = async (sound: Sound) => {
    spans = [];
    latestMs = 0;
    onsetAt = performance.now();
    let next = 0;
    // What was said before is answered: its words are none of this sound's.
    line.onTranscript?.({ atMs: 0, text: '' }, false);
    const samples = readSound(folder, sound);
    for (let at = 0; at < samples.length; at += tickSamples) {
      const part = silence.slice();
      part.set(samples.subarray(at, at + tickSamples));
      await pass(part);
      const atMs = (at + tickSamples) / (rate / 1000);
      for (; next < sound.transcripts.length; next += 1) {
        const transcript = sound.transcripts[next];
        if (transcript === undefined || transcript.atMs > atMs) break;
        line.onTranscript?.(transcript, next === sound.transcripts.length - 1);
      }
    }
  };
  const rest = async (ms: number, isOver: () => boolean = () => false) => {
    for (let left = ms; left > 0 && !isOver(); left -= tickMs) await pass(silence);
    return isOver();
  };
  await rest(leadMs);
  if (trial.question !== undefined) {
    await play(trial.question);
    const heardMs = () => spans.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
    if (!(await rest(answerLimitMs, () => heardMs() >= intoAnswerMs)))
      throw new Error(`${trial.id}: the question was not answered for ${intoAnswerMs} ms`);
  }
  await play(trial.sound);
  if (trial.question === undefined) await rest(longestWaitMs, () => spans.length > 0);
  else await rest(watchedMs);
  const listenedMs = Math.round(performance.now() - onsetAt);
  const { id, kind, sound } = trial;
  return {
    id,
    kind,
    lengthMs: sound.lengthMs,
    watchedMs: listenedMs,
    spans: spans.map(rounded),
    latestMs: Math.round(latestMs),
  };
}

function readSound(folder: string, { file }: Sound): Int16Array {
  const bytes = readFileSync(join(folder, file));
  return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
}

/** Timers are late now and then: a gap shorter than this is none. */
const joinedMs = 60;

function extend(spans: Span[], speech: Speech, nowMs: number): void {
  const last = spans.at(-1);
  if (last?.speech === speech && nowMs - last.toMs < joinedMs) last.toMs = nowMs;
  else spans.push({ fromMs: nowMs, toMs: nowMs, speech });
}

function rounded({ fromMs, toMs, speech }: Span): Span {
  return { fromMs: Math.round(fromMs), toMs: Math.round(toMs), speech };
}
