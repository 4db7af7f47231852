/** What the recogniser has understood by then, which is told to every product alike. */
export interface Transcript {
  /** Since the sound began. */
  atMs: number;
  text: string;
  /** Our recogniser's estimate that the sentence goes on, which our end-of-turn model takes. */
  continuation?: number | undefined;
}

export interface Sound {
  name: string;
  /** 16-bit samples at 16 kHz. */
  file: string;
  lengthMs: number;
  /** The last is that of the whole sound. */
  transcripts: Transcript[];
}

/**
 * `sentence`: when does the answer begin? `pause`: does it begin within a pause in mid-sentence? The others come while
 * the assistant speaks: `noise` and `backchannel` should not stop it, `interruption` should.
 */
export const kinds = ['sentence', 'pause', 'noise', 'backchannel', 'interruption'] as const;
export type TrialKind = (typeof kinds)[number];
/** What counts here is a time: beside another call of the same product it is longer. */
export const timedKinds: readonly TrialKind[] = ['sentence', 'interruption'];

export interface Trial {
  id: string;
  kind: TrialKind;
  sound: Sound;
  /** Spoken first; `sound` comes while its answer is heard. */
  question?: Sound;
}

/** The answer to the question, or anything else the assistant says. */
export type Speech = 'answer' | 'other';

export interface Span {
  /** Since the sound began. */
  fromMs: number;
  toMs: number;
  speech: Speech;
}

export interface Outcome {
  id: string;
  kind: TrialKind;
  /** Of the sound. */
  lengthMs: number;
  /** Until when the assistant was listened to, since the sound began. */
  watchedMs: number;
  /** When the assistant was heard. */
  spans: Span[];
  /** The latest that 10 ms of sound were moved since the sound began. */
  latestMs: number;
}

/** Long enough to be spoken over; a sentence of it is told from all else by `speechOf`. */
export const longAnswer =
  'The museum opens at nine in the morning, and it closes at six in the evening on every day of the week but Monday. ' +
  'There is a café on the second floor, and its terrace looks over the river and the old bridge. ' +
  'The paintings hang in the east wing, the coins and the maps are shown in the west wing. ' +
  'Guided tours begin at ten, at noon and at four, and they take about an hour and a half each.';
export const shortAnswer = 'All right.';

export function answerTo({ kind }: Trial, turn: number): string {
  return turn === 1 && kind !== 'sentence' && kind !== 'pause' ? longAnswer : shortAnswer;
}

const msPerLetter = 65;

/** The voice that takes no time: so long it speaks a text. */
export function spokenMs(text: string): number {
  return Math.max(200, Math.round((text.length * msPerLetter) / 10) * 10);
}

/** A constant level whose sign says what is spoken: it outlives pauses, fades and changes of rate. */
export function levelOf(text: string): number {
  const bare = text.trim();
  return bare !== '' && longAnswer.includes(bare) ? 8000 : -8000;
}

export function speechOf(level: number): Speech {
  return level > 0 ? 'answer' : 'other';
}
