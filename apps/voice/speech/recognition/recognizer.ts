import { availableParallelism } from 'node:os';
import { BoundedMap } from '@trunkline/std';
import { windowLength } from '../activity/silero/model.ts';
import { decodeSound } from '../audio/decode.ts';
import { toMono } from '../audio/resample.ts';
import type { CreateHost } from '../worker/host.ts';

const sampleRate = 16_000;

export interface RecognitionOptions {
  /** False for an interim transcript while the caller still speaks; it may be dropped for a newer one. */
  final: boolean;
  /** The call that it is for: calls take turns. */
  caller?: string | undefined;
  /** A code such as de, where it is known. */
  language?: string | undefined;
  /** Called with the language that was heard, where none is given and the recogniser can tell. */
  onLanguage?: ((code: string) => void) | undefined;
  /** Called with the logarithm of the probability that the sentence goes on after the last word, where the recogniser can tell. */
  onContinuation?: ((logProbability: number | undefined) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** The same utterance as the recogniser has heard it; used as long as that works. */
  live?: LiveUtterance | undefined;
  /** Words that may be none count too: they may be an answer, or stop the bot. */
  acceptsDoubtful?: boolean | undefined;
  /** Mean probability of speech in a piece of it, where there is any. */
  voiceProbability?: number | undefined;
  /** Of speech, for every window of 512 samples, where they are known: finding them takes time that the caller waits. */
  probabilities?: readonly number[] | undefined;
}

export interface ListenOptions {
  caller?: string | undefined;
  language?: string | undefined;
  /** The utterance is over, and nobody waits for its text. */
  signal: AbortSignal;
}

/** An utterance that a recogniser hears as it is spoken. */
export interface LiveUtterance {
  /** False once the connection is lost or could not be had: the whole utterance has to be sent. */
  readonly isHeard: boolean;
  /** The text so far. */
  readonly transcript: string;
  /** Takes the next samples at 16 kHz, -1 to 1. */
  push(samples: Float32Array): void;
  /** The final text of all that was pushed; more may follow. */
  finish(signal?: AbortSignal): Promise<string>;
}

/** Live speech to text; silence and noise give ''. */
export interface Recognizer {
  readonly backend: string;
  /** Each transcript costs as much as the whole utterance. */
  readonly isCostly?: boolean;
  /** Writes down any language, so that the words tell which one is spoken. */
  readonly isMultilingual?: boolean;
  /** Hears an utterance as it is spoken; undefined where that is not possible, now or ever. */
  listen?(options: ListenOptions): LiveUtterance | undefined;
  /** Takes the utterance so far at 16 kHz, -1 to 1. */
  recognize(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  close(): Promise<void>;
}

/** Lets only speech through to the backend, and only plausible text back. */
export function createGatedRecognizer(parts: {
  backend: string;
  isCostly?: boolean;
  isMultilingual?: boolean;
  scan: LocalRecognition['scan'];
  transcribe(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  listen?(options: ListenOptions): LiveUtterance | undefined;
  close(): Promise<void>;
}): Recognizer {
  const { backend, isCostly = false, isMultilingual = false, scan, transcribe, listen, close } = parts;
  return {
    backend,
    isCostly,
    isMultilingual,
    ...(listen !== undefined && { listen }),
    close,
    async recognize(samples, options) {
      const heard = finishLive(options);
      const probabilities = options.probabilities ?? (await scan(samples, options));
      const spans = speechSpans(samples, probabilities);
      if (spans.length === 0) return '';
      const live = await heard;
      options.signal?.throwIfAborted();
      if (live !== undefined) return plausibleText(live, samples.length / sampleRate);
      const texts: string[] = [];
      for (const { from, to } of spans) {
        const voiceProbability = meanVoice(probabilities, from, to);
        const text = await transcribe(samples.slice(from, to), { ...options, voiceProbability });
        texts.push(plausibleText(text, (to - from) / sampleRate));
      }
      return texts.filter(Boolean).join(' ');
    },
  };
}

/** The final text by the connection; undefined where there is none. Never rejects. */
async function finishLive({ final, live, signal }: RecognitionOptions): Promise<string | undefined> {
  if (!final || !live?.isHeard) return undefined;
  try {
    return await live.finish(signal);
  } catch {
    // The connection has reported why, and the whole utterance is sent instead.
    return undefined;
  }
}

const longestSeconds = 60;

/** Transcribes the first minute of a sound file. */
export async function recognizeFile(
  { recognize }: Pick<Recognizer, 'recognize'>,
  bytes: Uint8Array,
  signal?: AbortSignal,
): Promise<string> {
  const samples = await toMono(await decodeSound(bytes, longestSeconds), sampleRate);
  return recognize(samples.subarray(0, longestSeconds * sampleRate), { final: true, signal });
}

export type RecognitionWork =
  | { kind: 'scan'; samples: Float32Array }
  | {
      kind: 'transcribe';
      samples: Float32Array;
      model: 'quick' | 'careful';
      draftTokens?: readonly number[];
    };

export interface Transcript {
  text: string;
  tokens: readonly number[];
  /** See `onContinuation`. */
  continuation: number | undefined;
  /** The probability that nobody said anything. */
  nothing: number;
}

export interface RecognitionSettings {
  /** The operator's own weights; the installed ones if not given. */
  modelDirectory: string | undefined;
}

export interface LocalRecognition {
  /** The probability of speech for every whole window of 512 samples. */
  scan(samples: Float32Array, options: RecognitionOptions): Promise<number[]>;
  transcribe(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  close(): Promise<void>;
}

/** Half a second loads a model. */
const silence = new Float32Array(8000);

/** Final transcripts go first; the smaller model makes interim ones, which are dropped when others wait. */
export function createLocalRecognition(
  createHost: CreateHost,
  settings: RecognitionSettings,
): LocalRecognition {
  const script = new URL('./recognition.worker.ts', import.meta.url);
  const host = createHost('speech recognition', script, {
    settings,
    threads: availableParallelism(),
    warmUp: [
      { kind: 'scan', samples: silence },
      { kind: 'transcribe', samples: silence, model: 'careful' },
    ] satisfies RecognitionWork[],
  });
  const drafts = new TranscriptDrafts();
  const ask = <Value>(work: RecognitionWork, { signal, final, caller }: RecognitionOptions) =>
    host.ask<Value>(work, { signal, caller, urgent: final, droppable: !final });
  return {
    scan: (samples, options) => ask({ kind: 'scan', samples }, options),
    async transcribe(samples, options) {
      const model = options.final ? 'careful' : 'quick';
      const draftTokens = drafts.of(samples, options);
      const work: RecognitionWork = {
        kind: 'transcribe',
        samples,
        model,
        ...(draftTokens && { draftTokens }),
      };
      const { text, tokens, nothing, continuation } = await ask<Transcript>(work, options);
      options.onContinuation?.(continuation);
      drafts.note(samples, options, tokens);
      const isForeign = settings.modelDirectory === undefined && foreignLetter.test(text);
      return isForeign || isMadeUp(nothing, options) ? '' : text;
    },
    close: () => host.close(),
  };
}

/** Chosen by coughs, sneezes, laughter and animals (ESC-50), and by short words of many people. */
const [surelyVoice, surelyWords] = [0.85, 0.08];

/** Words of a sound that is hardly a voice, where the model found it likely that nobody said anything. */
function isMadeUp(
  nothing: number,
  { acceptsDoubtful = false, voiceProbability = 1 }: RecognitionOptions,
): boolean {
  return !acceptsDoubtful && voiceProbability < surelyVoice && nothing > surelyWords;
}

/** The installed model knows English. Where it understands nothing, of a strong accent, it writes letters of other scripts. */
const foreignLetter = /[^\P{L}\p{Script=Latin}]/u;

const mostCallersRemembered = 100;
/** Nobody goes on with an utterance after so long; what was said in a call that is over is not kept. */
const rememberedMs = 60_000;
/** Two sounds that are alike for so many samples have the same beginning. */
const headSamples = 256;

/** The last transcript of each caller: the next one mostly begins with it where the same speech goes on. */
class TranscriptDrafts {
  readonly #last = new BoundedMap<
    string,
    { head: Float32Array; tokens: readonly number[]; expiry: NodeJS.Timeout }
  >(mostCallersRemembered);

  of(samples: Float32Array, { caller }: RecognitionOptions): readonly number[] | undefined {
    const last = caller === undefined ? undefined : this.#last.get(caller);
    return last?.head.every((sample, index) => sample === samples[index]) ? last.tokens : undefined;
  }

  note(samples: Float32Array, { caller }: RecognitionOptions, tokens: readonly number[]): void {
    if (caller === undefined) return;
    clearTimeout(this.#last.get(caller)?.expiry);
    this.#last.delete(caller);
    const head = samples.slice(0, headSamples);
    // All sounds that begin with a muted microphone are alike.
    if (head.every((sample) => sample === 0)) return;
    const expiry = setTimeout(() => this.#last.delete(caller), rememberedMs).unref();
    this.#last.set(caller, { head, tokens, expiry });
  }
}

/** Words per second; only a runaway recogniser is faster. */
const fastest = 7;
/** A phrase repeated this often in a row is a recogniser's loop. */
const repeats = 4;
const longestPhrase = 4;

/**
 * The text without what a recogniser makes up: a phrase said again and again is kept once, and a text too long for
 * its sound, or without any letter or digit, is dropped.
 */
export function plausibleText(text: string, seconds: number): string {
  const words = withoutLoops(text.split(/\s+/).filter(Boolean));
  if (words.length > Math.max(3, seconds * fastest)) return '';
  const clean = words.join(' ').replace(/^["'\s.,;:!?-]+/, '');
  return /[\p{L}\p{N}]/u.test(clean) ? clean : '';
}

function withoutLoops(words: readonly string[]): readonly string[] {
  for (let length = 1; length <= longestPhrase; length += 1) {
    for (let at = 0; at + length * repeats <= words.length; at += 1) {
      const times = timesInRow(words, at, length);
      if (times < repeats || isDictated(words, at, length)) continue;
      return withoutLoops([...words.slice(0, at + length), ...words.slice(at + length * times)]);
    }
  }
  return words;
}

function timesInRow(words: readonly string[], at: number, length: number): number {
  let times = 1;
  while (bare(words, at, length) === bare(words, at + times * length, length)) times += 1;
  return times;
}

/** Dictated numbers may repeat, in pieces of up to three digits. */
function isDictated(words: readonly string[], at: number, length: number): boolean {
  return /\b(\d{1,3}|zero|oh|one|two|three|four|five|six|seven|eight|nine)\b/.test(bare(words, at, length));
}

function bare(words: readonly string[], at: number, length: number): string {
  const phrase = words.slice(at, at + length).join(' ');
  return phrase.toLowerCase().replace(/[^\p{L}\p{N}' ]/gu, '');
}

interface Span {
  from: number;
  to: number;
}

/** Probabilities at which speech starts, and above which it continues. */
const entering = 0.5;
const staying = 0.35;
/** Shorter sounds are clicks and coughs; a spoken "no" is longer. */
const shortestWindows = 4;
/** -54 dB of full scale; speech into a microphone is louder. */
const quietest = 0.002;
/** Kept around speech, so that no soft consonant is lost. */
const margin = 0.25 * sampleRate;
/** Spans closer than this are joined. */
const joining = 0.6 * sampleRate;
/** The recogniser works best on at most this much. */
const longest = 20 * sampleRate;

/**
 * Where somebody speaks in an utterance, in pieces that the recogniser can take. Silence, hum, noise and clicks give
 * none: a recogniser would find words in them.
 */
export function speechSpans(samples: Float32Array, probabilities: readonly number[]): Span[] {
  const spoken = runsOf(probabilities)
    .map(({ from, to }) => ({ from: from * windowLength, to: Math.min(to * windowLength, samples.length) }))
    .filter((span) => loudness(samples, span) > quietest);
  const joined = joinNear(spoken.map((span) => widen(span, samples.length)));
  return joined.flatMap((span) => cut(span, probabilities));
}

function runsOf(probabilities: readonly number[]): Span[] {
  const runs: Span[] = [];
  let from: number | undefined;
  let sure = 0;
  const finish = (to: number) => {
    if (from !== undefined && sure >= shortestWindows) runs.push({ from, to });
    from = undefined;
    sure = 0;
  };
  for (const [index, probability] of probabilities.entries()) {
    if (probability >= entering) {
      from ??= index;
      sure += 1;
    } else if (probability < staying) finish(index);
  }
  finish(probabilities.length);
  return runs;
}

/** Of the windows that hold a voice. */
function meanVoice(probabilities: readonly number[], from: number, to: number): number | undefined {
  const voiced = probabilities
    .slice(Math.floor(from / windowLength), Math.ceil(to / windowLength))
    .filter((probability) => probability >= entering);
  return voiced.length === 0 ? undefined : voiced.reduce((sum, value) => sum + value, 0) / voiced.length;
}

function loudness(samples: Float32Array, { from, to }: Span): number {
  let sum = 0;
  for (let index = from; index < to; index += 1) sum += (samples[index] ?? 0) ** 2;
  return Math.sqrt(sum / Math.max(1, to - from));
}

function widen({ from, to }: Span, length: number): Span {
  return { from: Math.max(0, from - margin), to: Math.min(length, to + margin) };
}

function joinNear(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last !== undefined && span.from - last.to < joining) last.to = span.to;
    else joined.push({ ...span });
  }
  return joined;
}

/** Cuts long spans where speech is least likely, in the second half of what fits. */
function cut({ from, to }: Span, probabilities: readonly number[]): Span[] {
  if (to - from <= longest) return [{ from, to }];
  const first = Math.ceil((from + longest / 2) / windowLength);
  const last = Math.floor((from + longest) / windowLength);
  let best = last;
  for (let index = last; index >= first; index -= 1) {
    if ((probabilities[index] ?? 1) < (probabilities[best] ?? 1)) best = index;
  }
  const at = best * windowLength;
  return [{ from, to: at }, ...cut({ from: at, to }, probabilities)];
}
