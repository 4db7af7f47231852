import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveParser } from '@trunkline/documents/parser-thread';
import { createWordPiece, type WordPiece } from '@trunkline/tools/word-piece';
import type * as Onnx from 'onnxruntime-node';
import type { ClaimOpinion, ClaimTask } from './claim-model.ts';

// Runs in a process of its own: loads the model with the first task and judges one pair after the other.

/** Tokens of the claim, and of claim and passage together, as in training. */
const CLAIM = 96;
const LENGTH = 320;
const [BEGIN, END] = [101, 102];

interface Loaded {
  onnx: typeof Onnx;
  session: Onnx.InferenceSession;
  words: WordPiece;
}

let loaded: Promise<Loaded> | undefined;

serveParser(async ({ folder, vocabulary, pairs }: ClaimTask): Promise<ClaimOpinion[]> => {
  // A failure may pass, as while the packages are installed anew.
  loaded ??= load(folder, vocabulary).catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  const model = await loaded;
  const opinions: ClaimOpinion[] = [];
  for (const { claim, passage } of pairs) opinions.push(await judge(model, claim, passage));
  return opinions;
});

async function load(folder: string, vocabulary: string): Promise<Loaded> {
  const { default: onnx } = (await import('onnxruntime-node')) as unknown as { default: typeof Onnx };
  const pieces = readdirSync(folder).filter((name) => name.startsWith('claim-judge.onnx'));
  const weights = Buffer.concat(pieces.sort().map((name) => readFileSync(join(folder, name))));
  const session = await onnx.InferenceSession.create(weights, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const words = createWordPiece(readFileSync(join(folder, vocabulary), 'utf8').split('\n'));
  return { onnx, session, words };
}

async function judge(
  { onnx, session, words }: Loaded,
  claim: string,
  passage: string,
): Promise<ClaimOpinion> {
  const left = words.encode(claim).slice(0, CLAIM);
  const right = words.encode(passage).slice(0, LENGTH - left.length - 3);
  const ids = [BEGIN, ...left, END, ...right, END];
  const tensor = (values: readonly number[]) =>
    new onnx.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
  const { logits } = await session.run({
    input_ids: tensor(ids),
    token_type_ids: tensor(ids.map((_, place) => (place < left.length + 2 ? 0 : 1))),
    attention_mask: tensor(ids.map(() => 1)),
  });
  if (logits === undefined) throw new Error('cannot be judged: the claim model gives no logits');
  const [yes = 0, no = 0, unsaid = 0] = [...(logits.data as Float32Array)].map(Math.exp);
  const sum = yes + no + unsaid;
  return { yes: yes / sum, no: no / sum, unsaid: unsaid / sum };
}
