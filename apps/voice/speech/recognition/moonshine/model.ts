import { readFile } from 'node:fs/promises';
import type * as Onnx from 'onnxruntime-node';
import type { OnnxRuntime } from '../../weights.ts';
import { type Decoded, decodeGreedily, type GreedyOptions } from '../greedy-decoder.ts';
import { withQuantizedLogits } from './quantized-logits.ts';

const size = 32_000;

const blank = '\u2581';

export interface MoonshineFiles {
  encoder: string;
  decoder: string;
}

/** An English speech recogniser that works on 16 kHz samples. */
export interface Moonshine {
  /** `draftTokens`: what the text may begin with. `onToken`: see `decodeGreedily`. */
  decode(
    samples: Float32Array,
    options?: Pick<GreedyOptions, 'draftTokens' | 'onToken' | 'signal'>,
  ): Promise<Decoded>;
}

type Runtime = OnnxRuntime;

interface Sessions {
  encoder: Onnx.InferenceSession;
  decoder: Onnx.InferenceSession;
}

const startToken = 1;
const endToken = 2;
const sampleRate = 16_000;
/** Nobody speaks faster; more means that the model repeats itself. */
const tokensPerSecond = 7;
const fewestTokens = 4;

/** The decoder's steps are too small for more threads: they take twice as long where another caller needs the second core. */
const decoderThreads = { intraOpNumThreads: 1, interOpNumThreads: 1 };

/** A thread that waits for the others leaves its core to other work. */
const sparing = { extra: { session: { intra_op: { allow_spinning: '0' } } } };

/** For workers only: inference blocks the thread. */
export async function loadMoonshine(
  onnx: Runtime,
  files: MoonshineFiles,
  encoderThreads: number,
): Promise<Moonshine> {
  const threads = { intraOpNumThreads: encoderThreads, interOpNumThreads: 1 };
  // One after the other: a second that still loads when the first has failed ends the process with the worker.
  const encoder = await onnx.InferenceSession.create(files.encoder, { ...threads, ...sparing });
  const weights = await readFile(files.decoder);
  const decoder = await onnx.InferenceSession.create(withQuantizedLogits(weights) ?? weights, decoderThreads);
  return { decode: (samples, options) => recognise(onnx, { encoder, decoder }, samples, options) };
}

async function recognise(
  onnx: Runtime,
  { encoder, decoder }: Sessions,
  samples: Float32Array,
  options: Parameters<Moonshine['decode']>[1],
): Promise<Decoded> {
  const heard = await encoder.run({ input_values: new onnx.Tensor('float32', samples, [1, samples.length]) });
  const hidden = Object.values(heard)[0];
  if (hidden === undefined) throw new Error('the speech model gives nothing');
  const most = fewestTokens + Math.ceil((samples.length / sampleRate) * tokensPerSecond);
  return decodeGreedily(onnx, decoder, hidden, { prompt: [startToken], endToken, most, ...options });
}

export interface Vocabulary {
  textOf(tokens: readonly number[]): string;
  /** Listens to the tokens of a transcript. */
  continuation(): Continuation;
}

/** How likely the speech model found it, after the last word, that the sentence goes on: it has heard far more people than the end-of-turn model. */
interface Continuation {
  onToken(token: number, logits: Float32Array): void;
  /** Logarithm of the probability of anything but `.`, `?`, `!` and the end; undefined before there is a word. */
  readonly logProbability: number | undefined;
}

function listenForContinuation(words: readonly string[]): Continuation {
  const marks = tokensLike(words, /^[.,;:?!…-]+$/);
  const ends = [endToken, ...tokensLike(words, /^[.?!]$/)];
  let isAfterWord = false;
  let logProbability: number | undefined;
  return {
    onToken(token, logits) {
      const isMark = token === endToken || marks.has(token);
      if (isMark && isAfterWord) logProbability = Math.log(Math.max(1e-4, 1 - shareOf(logits, ends)));
      isAfterWord = !isMark;
    },
    get logProbability() {
      return logProbability;
    },
  };
}

function tokensLike(words: readonly string[], pattern: RegExp): Set<number> {
  return new Set(words.flatMap((word, token) => (pattern.test(word.replace(blank, '')) ? [token] : [])));
}

/** The probability of these tokens together. */
function shareOf(logits: Float32Array, tokens: readonly number[]): number {
  const most = logits.reduce((left, right) => Math.max(left, right), Number.NEGATIVE_INFINITY);
  const all = logits.reduce((sum, value) => sum + Math.exp(value - most), 0);
  return tokens.reduce((sum, token) => sum + Math.exp((logits[token] ?? -Infinity) - most), 0) / all;
}

/**
 * Reads the vocabulary out of the script that comes with the weights. The script is only data here: the vocabulary is
 * the one long base64 text in it that holds as many lines as there are tokens.
 */
export function readVocabulary(script: string): Vocabulary {
  const candidates = script.match(/[A-Za-z0-9+/=]{100000,}/g) ?? [];
  const lists = candidates.map((text) => Buffer.from(text, 'base64').toString('utf8').split('\n'));
  const words = lists.find(({ length }) => length === size);
  if (words === undefined) throw new Error('the vocabulary of the speech model is not where it was');
  return { textOf: (tokens) => textOf(tokens, words), continuation: () => listenForContinuation(words) };
}

function textOf(tokens: readonly number[], words: readonly string[]): string {
  const bytes = tokens.flatMap((token) => bytesOf(words[token]));
  return Buffer.from(bytes).toString('utf8').replaceAll(blank, ' ').trim();
}

/** Some tokens stand for a single byte, control tokens for no text. */
function bytesOf(word: string | undefined): number[] {
  if (word === undefined || /^<(unk|s|\/s)>$/.test(word)) return [];
  const byte = /^<0x([0-9A-F]{2})>$/.exec(word)?.[1];
  return byte === undefined ? [...Buffer.from(word, 'utf8')] : [Number.parseInt(byte, 16)];
}
