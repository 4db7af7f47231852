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
}

/** The languages that the model knows. */
export const turnLanguages: readonly string[] = ['en', 'es', 'fr', 'it', 'pt'];

const folder = new URL('../../models/end-of-turn/', import.meta.url);
const window = 40;
const buckets = 32_768;
/** 1.6 s. */
export const soundWindow = 25_600;
/** The voices that the sound side learnt from speak English. */
const soundLanguage = 'en';
/**
 * How words and sound weigh: fitted to sentences of authors who were held out, spoken by Piper (training/turns/combine.py).
 * The constants say how much worse it is to cut somebody off than to wait; for sound and text together they were chosen by
 * recordings that the benchmark does not measure.
 */
const both = { text: 0.521, sound: 0.959, constant: -2.12 };
const textAlone = { text: 1, sound: 0, constant: -0.69 };

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
  const bySound = async (samples: Float32Array) => {
    const output = await sound.run({
      samples: new onnx.Tensor('float32', lastOf(samples), [1, soundWindow]),
    });
    return Number(output.logit?.data[0] ?? 0);
  };
  return async ({ text, language, samples }) => {
    const chance = await byWords(text, language);
    if (samples === undefined || language !== soundLanguage) return combined(chance, 0, textAlone);
    return combined(chance, await bySound(samples), both);
  };
}

/** Neither side may overrule the other altogether. */
function combined(chance: number, logit: number, weight: typeof both): number {
  const likely = Math.min(Math.max(chance, 1e-4), 1 - 1e-4);
  const heard = Math.min(Math.max(logit, -8), 8);
  const sum = weight.text * Math.log(likely / (1 - likely)) + weight.sound * heard + weight.constant;
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
