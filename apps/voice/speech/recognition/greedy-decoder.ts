import type * as Onnx from 'onnxruntime-node';
import type { OnnxRuntime } from '../weights.ts';

type Tensors = Record<string, Onnx.Tensor>;

export interface GreedyOptions {
  /** Tokens that the text begins with; they are not part of the result. */
  prompt: readonly number[];
  endToken: number;
  /** The most tokens of the result. */
  most: number;
  /** Speculative decoding: what the result may begin with. One run of the decoder verifies it, and a shorter one the rest of it after each place where it was wrong. */
  draftTokens?: readonly number[] | undefined;
  /** Tokens that are never chosen, given how many were chosen before. */
  suppressed?(chosen: number): readonly number[];
  /** Called with every token that is chosen, the end among them, and the numbers it was chosen by. */
  onToken?(token: number, logits: Float32Array): void;
  signal?: AbortSignal | undefined;
}

export interface Decoded {
  tokens: number[];
  /** The probability that there is nothing to be written down. */
  nothing: number;
}

/** Runs a merged decoder with a key-value cache, always with the likeliest token. */
export async function decodeGreedily(
  onnx: OnnxRuntime,
  decoder: Onnx.InferenceSession,
  hidden: Onnx.Tensor,
  { prompt, endToken, most, draftTokens = [], suppressed, onToken, signal }: GreedyOptions,
): Promise<Decoded> {
  const tokens: number[] = [];
  const run = (past: Tensors, input: readonly number[], isCached: boolean): Promise<Tensors> => {
    signal?.throwIfAborted();
    const ids = BigInt64Array.from(input, (token) => BigInt(token));
    return decoder.run({
      ...past,
      input_ids: new onnx.Tensor('int64', ids, [1, ids.length]),
      encoder_hidden_states: hidden,
      use_cache_branch: new onnx.Tensor('bool', [isCached], [1]),
    });
  };
  const empty = emptyPast(onnx, decoder);
  let output: Tensors = {};
  const next = (position: number) => {
    const logits = logitsAt(output.logits, position);
    const token = likeliest(logits, suppressed?.(tokens.length));
    onToken?.(token, logits);
    return token;
  };
  output = await run(empty, [...prompt, ...draftTokens], false);
  const nothing = probabilityOf(endToken, logitsAt(output.logits, prompt.length - 1));
  let past = nextPast(empty, output, true);
  let [guess, position, drafts] = [draftTokens, prompt.length - 1, 1];
  /** What was guessed last, and how much of it was right. */
  let draft = { tokens: draftTokens, missedAt: 0 };
  for (;;) {
    let right = 0;
    let token = next(position);
    while (token !== endToken && token === guess[right] && tokens.length < most) {
      tokens.push(token);
      right += 1;
      token = next(position + right);
    }
    if (token === endToken || tokens.length >= most) return { tokens, nothing };
    if (right < guess.length) past = firstOf(onnx, past, prompt.length + tokens.length);
    if (guess.length > 0) draft = { tokens: [...tokens, ...guess.slice(right)], missedAt: tokens.length };
    tokens.push(token);
    if (tokens.length >= most) return { tokens, nothing };
    guess = drafts < mostDrafts ? restOf(draft.tokens, tokens, draft.missedAt) : [];
    if (guess.length > 0) drafts += 1;
    output = await run(past, [token, ...guess], true);
    past = nextPast(past, output, false);
    position = 0;
  }
}

const mostDrafts = 8;
/** With the cache, verifying a guess takes as long as choosing so many tokens. */
const worthwhile = 2;
/** A recogniser writes a word in so many tokens more or less than another. */
const near = 4;

/** What followed the last token in a draft that was wrong before; empty where it is not there, or little follows. */
function restOf(draft: readonly number[], tokens: readonly number[], missedAt: number): readonly number[] {
  const at = draft.slice(missedAt, tokens.length + near).indexOf(tokens.at(-1) ?? -1);
  const rest = at < 0 ? [] : draft.slice(missedAt + at + 1);
  return rest.length < worthwhile ? [] : rest;
}

/** The decoder's part of the cache for so many tokens; its shape is [1, heads, tokens, width]. */
function firstOf(onnx: OnnxRuntime, past: Tensors, count: number): Tensors {
  const entries = Object.entries(past).map(([name, tensor]) => {
    const [, heads = 0, tokens = 0, width = 0] = tensor.dims;
    if (!name.includes('.decoder.') || tokens <= count) return [name, tensor];
    const values = new Float32Array(heads * count * width);
    const all = tensor.data as Float32Array;
    for (let head = 0; head < heads; head += 1) {
      const from = head * tokens * width;
      values.set(all.subarray(from, from + count * width), head * count * width);
    }
    return [name, new onnx.Tensor('float32', values, [1, heads, count, width])];
  });
  return Object.fromEntries(entries);
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

/** The numbers of the token that follows the one at this position. */
function logitsAt(logits: Onnx.Tensor | undefined, position: number): Float32Array {
  const values = logits?.data;
  if (!(values instanceof Float32Array)) throw new Error('the speech model gives no numbers');
  const size = logits?.dims.at(-1) ?? 0;
  return values.subarray(position * size, (position + 1) * size);
}

function likeliest(values: Float32Array, suppressed: readonly number[] = []): number {
  for (const token of suppressed) values[token] = Number.NEGATIVE_INFINITY;
  let best = 0;
  for (let index = 1; index < values.length; index += 1) {
    if ((values[index] ?? 0) > (values[best] ?? 0)) best = index;
  }
  return best;
}

function probabilityOf(token: number, values: Float32Array): number {
  const highest = values.reduce((max, value) => Math.max(max, value), Number.NEGATIVE_INFINITY);
  const sum = values.reduce((total, value) => total + Math.exp(value - highest), 0);
  return Math.exp((values[token] ?? Number.NEGATIVE_INFINITY) - highest) / sum;
}
