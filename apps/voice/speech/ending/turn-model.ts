import { readFile } from 'node:fs/promises';
import { loadOnnx } from '../weights.ts';

// The end-of-turn model (models/end-of-turn). Words, hashes and window are those of training/turns/turns.py.

/** What a caller has said so far. */
export interface TurnText {
  text: string;
  /** A code of `turnLanguages`. */
  language: string;
}

/** The languages that the model knows. */
export const turnLanguages: readonly string[] = ['en', 'es', 'fr', 'it', 'pt'];

const folder = new URL('../../models/end-of-turn/', import.meta.url);
const window = 40;
const buckets = 32_768;

/** Loads the model. What it gives answers with the probability that the turn is over. */
export async function loadTurnModel(): Promise<(turn: TurnText) => Promise<number>> {
  const onnx = await loadOnnx();
  const weights = await readFile(new URL('end-of-turn.onnx', folder));
  const session = await onnx.InferenceSession.create(weights, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const listed = (await readFile(new URL('words.txt', folder), 'utf8')).trim().split('\n');
  const known = new Map(listed.map((word, index) => [word, index + 1]));
  return async ({ text, language }) => {
    const rows = [`<${language}>`, ...turnWords(text).slice(-window)].map((word) => features(word, known));
    const ids = BigInt64Array.from(rows.flat(), BigInt);
    const output = await session.run({
      ids: new onnx.Tensor('int64', ids, [1, rows.length, rows[0]?.length ?? 0]),
    });
    return Number(output.finished?.data[0] ?? 0);
  };
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
