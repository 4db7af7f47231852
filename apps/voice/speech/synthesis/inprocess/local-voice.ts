import { CircuitBreaker } from '@trunkline/std';
import { type AudioFrame, meanSquare, toInt16 } from '../../audio/samples.ts';
import type { SpeechWarnings } from '../../warnings.ts';
import type { WorkerHost } from '../../worker/host.ts';
import { BehindError, type SpeechRequest, type Synthesizer, withoutProsody } from '../synthesizer.ts';
import { normalise } from './normalise.ts';

/** Softer is silence after speech: -46 dB of full scale. */
const silent = 0.005;

/**
 * Where speech starts, in shares of the loudest window's amplitude. Piper's sound begins with a click of one window (up
 * to 1/13) and 40 to 80 ms of noise, for which nobody should wait: speech is a `loud` window, or two of at least
 * `speech` in a row, with the soft consonant before them.
 */
const onset = { windowSeconds: 0.01, loud: 1 / 11, speech: 1 / 14, consonant: 1 / 40 };

/** The first piece is short, so that the caller hears something soon. */
const shortFirst = 60;

/** Far below the model's limit (510 symbols), so that other callers get their turn. */
const longest = 160;

interface LocalVoiceOptions {
  backend: string;
  host: Pick<WorkerHost, 'ask' | 'threads' | 'close'>;
  warnings: SpeechWarnings;
  /** Called before the worker is asked. */
  prepare?(): void;
  choose(request: SpeechRequest): Omit<UtteranceWork, 'text'>;
  /** Whether it knows the language of a request; without this it does. */
  speaks?(request: SpeechRequest): boolean;
  /** There is a faster voice, which speaks when this one falls behind. */
  handsOver?: boolean;
  now?: () => number;
}

/** Seconds of silence kept around a piece, and at the start, for which somebody waits. */
const pauses = { start: 0.01, before: 0.04, afterWord: 0.03, afterClause: 0.12, afterSentence: 0.28 };

/**
 * A local voice. It speaks piece by piece, so that callers take turns and the first sound comes early. While more
 * callers listen than it has threads, a sentence begins when its end will be there in time, and a voice that falls
 * behind leaves the sentences that follow to another.
 */
export function createLocalVoice(options: LocalVoiceOptions): Synthesizer {
  const { backend, host, warnings, choose, now } = options;
  const pace = new VoicePace({ threads: () => host.threads, ...(now && { now }) });
  return {
    backend,
    ...(options.speaks && { speaks: options.speaks }),
    ...(options.handsOver && { isBehind: () => pace.isBehind() }),
    async *speak(request) {
      const { signal, caller, background = false } = request;
      options.prepare?.();
      const choice = choose(request);
      const sentences = splitForSpeech(normalise(withoutProsody(request.text), choice.language));
      const synthesize = async (text: string, index: number, place: number): Promise<AudioFrame> => {
        const work: UtteranceWork = { text, ...choice };
        // What somebody waits for, or hears the beginning of, goes before sentences that come later.
        const priority = background ? { droppable: true } : { urgent: index === 0 || place > 0 };
        const utterance = await host.ask<Utterance>(work, { signal, caller, ...priority });
        if (utterance.notice !== undefined) warnings.report(utterance.notice, utterance.notice);
        pace.note(utterance.workMs, utterance.samples.length / utterance.sampleRate);
        const before = index === 0 && place === 0 ? pauses.start : pauses.before;
        return { samples: toInt16(trimmed(text, utterance, before)), sampleRate: utterance.sampleRate };
      };
      const leave = background ? () => undefined : pace.open(caller);
      try {
        for (const [index, sentence] of sentences.entries()) {
          if (index > 0 && options.handsOver && request.mayHandOver && pace.isBehind())
            throw new BehindError(backend, sentences.slice(index).flat().join(' '));
          yield* speakSentence(sentence, (text, place) => synthesize(text, index, place), pace);
        }
        if (!background) pace.keptUp();
      } finally {
        leave();
      }
    },
    close: () => host.close(),
  };
}

/** Gives pieces as they come, once the rest will come in time. */
async function* speakSentence(
  pieces: readonly string[],
  synthesize: (text: string, place: number) => Promise<AudioFrame>,
  pace: VoicePace,
) {
  let held: AudioFrame[] = [];
  let isHeard = false;
  for (const [place, text] of pieces.entries()) {
    held.push(await synthesize(text, place));
    isHeard ||= pace.isFluent(secondsOf(held), pieces.slice(place + 1));
    if (!isHeard) continue;
    yield* held;
    held = [];
  }
}

function secondsOf(frames: readonly AudioFrame[]): number {
  return frames.reduce((sum, { samples, sampleRate }) => sum + samples.length / sampleRate, 0);
}

function trimmed(text: string, { samples, sampleRate }: Utterance, before: number): Float32Array {
  const isSentence = /[.!?…।]["')\]]?$/.test(text);
  const isClause = !/[\p{L}\p{M}\p{N}]$/u.test(text);
  const after = isSentence ? pauses.afterSentence : isClause ? pauses.afterClause : pauses.afterWord;
  return trimSilence(samples, sampleRate, { before, after });
}

/** Splits a text into sentences, each with its pieces: long ones are split into clauses. */
export function splitForSpeech(text: string): string[][] {
  const sentences = text
    .split(/(?<=[.!?…।]["')\]]?)\s+(?=\S)/)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
  const [first, ...rest] = sentences;
  if (first === undefined) return [];
  return [shortened(first, shortFirst), ...rest.map((sentence) => [sentence])].map((pieces) =>
    pieces.flatMap(fitted),
  );
}

/** Separates the first clause of a long sentence. */
function shortened(sentence: string, most: number): string[] {
  if (sentence.length <= most) return [sentence];
  const clause = /^.{12,60}?[,;:–—](?=\s)/.exec(sentence)?.[0];
  return clause === undefined ? [sentence] : [clause, sentence.slice(clause.length).trim()];
}

function fitted(text: string): string[] {
  if (text.length <= longest) return [text];
  const window = text.slice(0, longest);
  const clause = Math.max(...[',', ';', ':', '—', '–'].map((mark) => window.lastIndexOf(`${mark} `)));
  const blank = window.lastIndexOf(' ');
  const at = clause > longest / 3 ? clause + 1 : blank > 0 ? blank : longest;
  return [text.slice(0, at), ...fitted(text.slice(at).trim())];
}

/** Trims the silence at both ends to the given seconds, so that pieces follow each other in one breath. */
function trimSilence(
  samples: Float32Array,
  sampleRate: number,
  keep: { before: number; after: number },
): Float32Array {
  const last = samples.findLastIndex((sample) => Math.abs(sample) > silent);
  if (last < 0) return samples.subarray(0, 0);
  const from = Math.max(0, speechStart(samples, sampleRate) - Math.round(keep.before * sampleRate));
  return samples.subarray(from, Math.min(samples.length, last + 1 + Math.round(keep.after * sampleRate)));
}

function speechStart(samples: Float32Array, sampleRate: number): number {
  const length = Math.round(onset.windowSeconds * sampleRate);
  const levels = Array.from({ length: Math.ceil(samples.length / length) }, (_, index) =>
    Math.sqrt(meanSquare(samples.subarray(index * length, (index + 1) * length))),
  );
  const loudest = Math.max(...levels);
  const isSpeech = (level = 0) => level >= loudest * onset.speech;
  let start = levels.findIndex(
    (level, index) => level >= loudest * onset.loud || (isSpeech(level) && isSpeech(levels[index + 1])),
  );
  while (start > 0 && (levels[start - 1] ?? 0) >= loudest * onset.consonant) start -= 1;
  return start * length;
}

export interface UtteranceWork {
  text: string;
  voice: string;
  /** Letter of the language. */
  language: string;
}

export interface Utterance {
  samples: Float32Array;
  sampleRate: number;
  /** What it took, without the loading of the model. */
  workMs: number;
  notice?: string | undefined;
}

/** How much the newest measurement counts. */
const newest = 0.3;
/** Reading speed, for sound that is not there yet. */
const charactersPerSecond = 14;
/** After it fell behind, a voice speaks to nobody who can have another: changing back and forth is worse than the plainer voice. */
const rest = { failureThreshold: 1, cooldownMs: 30_000, maxCooldownMs: 300_000 };

interface VoicePaceOptions {
  /** Pieces that are synthesized at the same time. */
  threads(): number;
  now?: () => number;
}

/** Measures how fast a local voice is, and tells whether it keeps up with all callers who listen to it now. */
class VoicePace {
  readonly #options: VoicePaceOptions;
  readonly #callers = new Map<unknown, number>();
  readonly #behind: CircuitBreaker;
  /** Seconds of work for a second of speech. */
  #realTimeFactor: number | undefined;

  constructor(options: VoicePaceOptions) {
    this.#options = options;
    this.#behind = new CircuitBreaker({ ...rest, now: options.now ?? (() => performance.now()) });
  }

  /** A caller begins to listen. Gives the way to end that. */
  open(caller: string | undefined): () => void {
    const key = caller ?? Symbol('caller');
    this.#callers.set(key, (this.#callers.get(key) ?? 0) + 1);
    return () => {
      const streams = (this.#callers.get(key) ?? 1) - 1;
      if (streams === 0) this.#callers.delete(key);
      else this.#callers.set(key, streams);
    };
  }

  /** Notes the work of a piece. */
  note(workMs: number, seconds: number): void {
    if (seconds <= 0) return;
    const factor = workMs / 1000 / seconds;
    this.#realTimeFactor =
      this.#realTimeFactor === undefined ? factor : this.#realTimeFactor * (1 - newest) + factor * newest;
  }

  /** Several callers share a thread. */
  get isShared(): boolean {
    return this.#callers.size > this.#options.threads();
  }

  /** Seconds that each caller waits for a second of speech. */
  get factor(): number {
    const share = this.#callers.size / Math.max(1, this.#options.threads());
    return (this.#realTimeFactor ?? 0) * Math.max(1, share);
  }

  /** It cannot keep up with its callers, or could not a short while ago. */
  isBehind(): boolean {
    if (this.#behind.state === 'open') return true;
    if (!this.isShared || this.factor <= 1) return false;
    this.#behind.fail();
    return true;
  }

  /** Somebody was spoken to without falling behind. */
  keptUp(): void {
    if (this.#behind.state === 'half-open') this.#behind.succeed();
  }

  /**
   * Whether speech that starts with so many seconds has no hole before its end: each of the texts that follow comes
   * before what precedes it was heard.
   */
  isFluent(seconds: number, following: readonly string[]): boolean {
    if (!this.isShared) return true;
    let [ready, needed] = [seconds, 0];
    for (const text of following) {
      const length = text.length / charactersPerSecond;
      needed += this.factor * length;
      if (needed > ready) return false;
      ready += length;
    }
    return true;
  }
}
