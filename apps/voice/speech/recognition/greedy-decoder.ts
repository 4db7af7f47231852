import type * as Onnx from 'onnxruntime-node';
import type { OnnxRuntime } from '../weights.ts';

type Tensors = Record<string, Onnx.Tensor>;

export interface GreedyOptions {
  /** Tokens that the text begins with; they are not part of the result. */
  prompt: readonly number[];
  endToken: number;
  /** The most tokens of the result. */
  most: number;
  /** Tokens that are never chosen, given how many were chosen before. */
  suppressed?(chosen: number): readonly number[];
  signal?: AbortSignal | undefined;
}

/** Runs a merged decoder with a key-value cache, always with the likeliest token. */
export async function decodeGreedily(
  onnx: OnnxRuntime,
  decoder: Onnx.InferenceSession,
  hidden: Onnx.Tensor,
  { prompt, endToken, most, suppressed, signal }: GreedyOptions,
): Promise<number[]> {
  const tokens: number[] = [];
  let past = emptyPast(onnx, decoder);
  for (let input = prompt; tokens.length < most; ) {
    signal?.throwIfAborted();
    const ids = BigInt64Array.from(input, (token) => BigInt(token));
    const output = await decoder.run({
      ...past,
      input_ids: new onnx.Tensor('int64', ids, [1, ids.length]),
      encoder_hidden_states: hidden,
      use_cache_branch: new onnx.Tensor('bool', [tokens.length > 0], [1]),
    });
    const token = likeliest(lastLogits(output.logits), suppressed?.(tokens.length));
    if (token === endToken) break;
    past = nextPast(past, output, tokens.length === 0);
    tokens.push(token);
    input = [token];
  }
  return tokens;
}

/** The empty key-value cache of the decoder. */
function emptyPast(onnx: OnnxRuntime, decoder: Onnx.InferenceSession): Tensors {
  const inputs = decoder.inputMetadata.filter(({ name }) => name.startsWith('past_key_values.'));
  return Object.fromEntries(
    inputs.map((input) => {
      const [, heads, , width] = input.isTensor ? input.shape : [];
      return [
        input.name,
        new onnx.Tensor('float32', new Float32Array(), [0, Number(heads), 1, Number(width)]),
      ];
    }),
  );
}

/** The encoder's part of the cache comes with the first token and stays; the decoder's part grows. */
function nextPast(past: Tensors, output: Tensors, first: boolean): Tensors {
  const entries = Object.entries(past).map(([name, before]) => {
    const now = output[name.replace('past_key_values', 'present')];
    return [name, now !== undefined && (first || name.includes('.decoder.')) ? now : before];
  });
  return Object.fromEntries(entries);
}

/** The numbers of the last token. */
function lastLogits(logits: Onnx.Tensor | undefined): Float32Array {
  const values = logits?.data;
  if (!(values instanceof Float32Array)) throw new Error('the speech model gives no numbers');
  return values.subarray(-(logits?.dims.at(-1) ?? 0));
}

function likeliest(values: Float32Array, suppressed: readonly number[] = []): number {
  for (const token of suppressed) values[token] = Number.NEGATIVE_INFINITY;
  let best = 0;
  for (let index = 1; index < values.length; index += 1) {
    if ((values[index] ?? 0) > (values[best] ?? 0)) best = index;
  }
  return best;
}
