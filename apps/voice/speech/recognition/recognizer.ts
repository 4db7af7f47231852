import { availableParallelism } from 'node:os';
import { BoundedMap } from '@trunkline/std';
import { decodeSound } from '../audio/decode.ts';
import { toMono } from '../audio/resample.ts';
import type { CreateHost, WorkOptions } from '../worker/host.ts';
import { droppedError } from '../worker/work-queue.ts';
import { meanVoice, speechSpans } from './speech-spans.ts';

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

/**
 * The larger model makes final transcripts. The smaller one makes interim ones in a thread of its own, so that no final one
 * waits for them, and none where final ones need all cores.
 */
export function createLocalRecognition(
  createHost: CreateHost,
  settings: RecognitionSettings,
  cores = availableParallelism(),
): LocalRecognition {
  const script = new URL('./recognition.worker.ts', import.meta.url);
  const careful = createHost('speech recognition', script, {
    settings,
    threads: cores,
    warmUp: [
      { kind: 'scan', samples: silence },
      { kind: 'transcribe', samples: silence, model: 'careful' },
    ] satisfies RecognitionWork[],
  });
  const quick = createHost('interim recognition', script, { settings });
  const drafts = new TranscriptDrafts();
  const priorityOf = ({ caller, final, signal }: RecognitionOptions): WorkOptions => ({
    caller,
    signal,
    urgent: final,
    droppable: !final,
  });
  return {
    scan: (samples, options) => careful.ask({ kind: 'scan', samples }, priorityOf(options)),
    async transcribe(samples, options) {
      if (!options.final && careful.callers >= cores) throw droppedError();
      const [host, model] = options.final ? [careful, 'careful' as const] : [quick, 'quick' as const];
      const draftTokens = drafts.of(samples, options);
      const work: RecognitionWork = {
        kind: 'transcribe',
        samples,
        model,
        ...(draftTokens && { draftTokens }),
      };
      const { text, tokens, nothing, continuation } = await host.ask<Transcript>(work, priorityOf(options));
      options.onContinuation?.(continuation);
      drafts.note(samples, options, tokens);
      const isForeign = settings.modelDirectory === undefined && foreignLetter.test(text);
      return isForeign || isMadeUp(nothing, options) ? '' : text;
    },
    async close() {
      await Promise.all([careful.close(), quick.close()]);
    },
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
