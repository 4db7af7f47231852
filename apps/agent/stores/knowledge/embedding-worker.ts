import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { serveParser } from '@trunkline/documents/parser-thread';
import { createWordPiece, type WordPiece } from '@trunkline/tools/word-piece';
import type * as Onnx from 'onnxruntime-node';

// Runs in a process of its own: loads the model with the first texts and gives a vector for each.

/** Tokens of a text that the model reads, its two marks included. */
const LENGTH = 256;
const [BEGIN, END] = [101, 102];

interface Loaded {
  onnx: typeof Onnx;
  session: Onnx.InferenceSession;
  words: WordPiece;
}

let loaded: Promise<Loaded> | undefined;

serveParser(async (texts: readonly string[]): Promise<number[][]> => {
  // A failure may pass, as while the packages are installed anew.
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  const model = await loaded;
  const vectors: number[][] = [];
  for (const text of texts) vectors.push(await embed(model, text));
  return vectors;
});

async function load(): Promise<Loaded> {
  const { default: onnx } = (await import('onnxruntime-node')) as unknown as { default: typeof Onnx };
  const folder = join(
    dirname(createRequire(import.meta.url).resolve('weights-minilm/package.json')),
    'model',
  );
  const session = await onnx.InferenceSession.create(join(folder, 'onnx/model_quantized.onnx'), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const { model } = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8')) as {
    model: { vocab: Record<string, number> };
  };
  const pieces: string[] = [];
  for (const [piece, id] of Object.entries(model.vocab)) pieces[id] = piece;
  return { onnx, session, words: createWordPiece(pieces) };
}

/** The mean of what the model says of each token. */
async function embed({ onnx, session, words }: Loaded, text: string): Promise<number[]> {
  const ids = [BEGIN, ...words.encode(text).slice(0, LENGTH - 2), END];
  const tensor = (values: readonly number[]) =>
    new onnx.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
  const output = await session.run({
    input_ids: tensor(ids),
    attention_mask: tensor(ids.map(() => 1)),
    token_type_ids: tensor(ids.map(() => 0)),
  });
  const states = output.last_hidden_state;
  if (states === undefined) throw new Error('cannot be embedded: the model gives no states');
  const [, , width = 0] = states.dims;
  const values = states.data as Float32Array;
  return Array.from({ length: width }, (_, column) => {
    let sum = 0;
    for (let at = column; at < values.length; at += width) sum += values[at] ?? 0;
    return sum / ids.length;
  });
}
