import { readFile } from 'node:fs/promises';
import { loadOnnx } from '../weights.ts';

// The end-of-turn model (models/end-of-turn). Words, hashes and window are those of training/turns/turns.py.

/** What a caller has said so far. */
export interface TurnSoFar {
  text: string;
  /** A code of `turnLanguages`. */
  language: string;
  /** The end of it at 16 kHz with the first 200 ms of the pause; undefined where nothing was heard. */
  samples?: Float32Array | undefined;
  /** Logarithm of the probability that the sentence goes on, by the recogniser; undefined where it cannot tell. */
  continuation?: number | undefined;
}

/** The languages that the model knows. */
export const turnLanguages: readonly string[] = ['en', 'es', 'fr', 'it', 'pt'];

const folder = new URL('../../models/end-of-turn/', import.meta.url);
const window = 40;
const buckets = 32_768;
/** 2.41 s: the graph judges the first and the last 2.4 s of it, so that it matters less where its steps of 20 ms begin. */
export const soundWindow = 38_560;
/** The voices that the sound side learnt from speak English. */
const soundLanguage = 'en';
/**
 * How words, sound and the recogniser's own doubt weigh. The constants say how much worse it is to cut somebody off than to
 * wait. Chosen by calls of recordings that the benchmark does not measure and of synthetic voices and authors that were
 * held out: fewer are cut off than by the model before, and nobody waits longer on average.
 */
const withContinuation = { text: 1.54, sound: 3.85, continuation: -1.54, constant: -10.4 };
const both = { text: 0.968, sound: 2.42, continuation: 0, constant: -3.87 };
const textAlone = { text: 1, sound: 0, continuation: 0, constant: -0.69 };

/** Loads the model. What it gives answers with the probability that the turn is over. */
export async function loadTurnModel(): Promise<(turn: TurnSoFar) => Promise<number>> {
  const onnx = await loadOnnx();
  const open = async (name: string) =>
    onnx.InferenceSession.create(await readFile(new URL(name, folder)), {
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
  const [words, sound] = [await open('end-of-turn.onnx'), await open('end-of-turn-sound.onnx')];
  const listed = (await readFile(new URL('words.txt', folder), 'utf8')).trim().split('\n');
  const known = new Map(listed.map((word, index) => [word, index + 1]));
  const byWords = async (text: string, language: string) => {
    const rows = [`<${language}>`, ...turnWords(text).slice(-window)].map((word) => features(word, known));
    const ids = BigInt64Array.from(rows.flat(), BigInt);
    const output = await words.run({
      ids: new onnx.Tensor('int64', ids, [1, rows.length, rows[0]?.length ?? 0]),
    });
    return Number(output.finished?.data[0] ?? 0);
  };
  const bySound = async (samples: Float32Array, asks: boolean) => {
    const output = await sound.run({
      samples: new onnx.Tensor('float32', lastOf(samples), [1, soundWindow]),
      // A voice that rises goes on, except where it asks.
      asks: new onnx.Tensor('float32', Float32Array.of(asks ? 1 : -1), [1]),
    });
    return Number(output.logit?.data[0] ?? 0);
  };
  return async ({ text, language, samples, continuation }) => {
    const chance = await byWords(text, language);
    if (samples === undefined || language !== soundLanguage) return combined({ chance }, textAlone);
    const logit = await bySound(samples, /\?\s*$/.test(text));
    return combined({ chance, logit, continuation }, continuation === undefined ? both : withContinuation);
  };
}

interface Judgements {
  chance: number;
  logit?: number;
  continuation?: number | undefined;
}

/** No side may overrule the others altogether. */
function combined({ chance, logit = 0, continuation = 0 }: Judgements, weight: typeof both): number {
  const likely = Math.min(Math.max(chance, 1e-4), 1 - 1e-4);
  const heard = Math.min(Math.max(logit, -8), 8);
  const words = weight.text * Math.log(likely / (1 - likely));
  const sum = words + weight.sound * heard + weight.continuation * continuation + weight.constant;
  return 1 / (1 + Math.exp(-sum));
}

/** Shorter sound has silence before it. */
function lastOf(samples: Float32Array): Float32Array {
  const whole = new Float32Array(soundWindow);
  const last = samples.subarray(-soundWindow);
  whole.set(last, soundWindow - last.length);
  return whole;
}

/** Lower case, no punctuation. */
function turnWords(text: string): string[] {
  const plain = text.normalize('NFC').replaceAll('’', "'").toLowerCase();
  return plain.match(/[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*/gu) ?? [];
}

/** The word, its beginning, its ends and its length, hashed, and its line among the words with a vector. */
function features(word: string, known: ReadonlyMap<string, number>): number[] {
  const letters = [...(/^\p{Nd}+$/u.test(word) ? '#'.repeat(word.length) : word)];
  const end = (count: number) => letters.slice(-count).join('');
  const hashed = [
    `w${letters.join('')}`,
    `p${letters.slice(0, 3).join('')}`,
    `2${end(2)}`,
    `3${end(3)}`,
    `4${end(4)}`,
    `n${Math.min(letters.length, 12)}`,
  ];
  const [stem = ''] = letters.join('').split("'");
  const plain = stem.normalize('NFD').replaceAll(/\p{Mn}/gu, '');
  return [...hashed.map(bucket), known.get(plain) ?? 0];
}

/** FNV-1a over UTF-8; 0 is kept for "nothing". */
function bucket(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return 1 + (value % (buckets - 1));
}
