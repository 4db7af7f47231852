import type * as Onnx from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { OnnxRuntime } from '../weights.ts';
import { decodeGreedily } from './greedy-decoder.ts';

const vocabulary = 10;
const [startToken, endToken] = [1, 2];

class Tensor {
  readonly type: string;
  readonly data: Float32Array | BigInt64Array | boolean[];
  readonly dims: number[];

  constructor(type: string, data: Tensor['data'], dims: number[]) {
    [this.type, this.data, this.dims] = [type, data, dims];
  }
}

/** A decoder that says a text token by token. Its cache holds the tokens that it was given, once for each of two heads. */
function decoderOf(text: readonly number[]) {
  const runs: number[][] = [];
  const name = 'past_key_values.0.decoder.key';
  const run = async (feeds: Record<string, Tensor>) => {
    const input = Array.from(feeds.input_ids?.data as BigInt64Array, Number);
    runs.push(input);
    const past = feeds[name] as Tensor;
    const length = past.dims[2] ?? 0;
    const before = feeds.use_cache_branch?.data[0]
      ? Array.from(past.data as Float32Array).slice(0, length)
      : [];
    const all = [...before, ...input];
    const logits = new Float32Array(input.length * vocabulary);
    for (const [index] of input.entries()) {
      const said = all.slice(1, before.length + index + 1);
      const isRight = said.every((token, place) => token === text[place]);
      logits[index * vocabulary + (isRight ? (text[said.length] ?? endToken) : 9)] = 1;
    }
    return {
      logits: new Tensor('float32', logits, [1, input.length, vocabulary]),
      'present.0.decoder.key': new Tensor('float32', Float32Array.from([...all, ...all]), [
        1,
        2,
        all.length,
        1,
      ]),
    };
  };
  const inputMetadata = [{ name, isTensor: true, shape: ['batch', 2, 'past', 1] }];
  return { runs, decoder: { run, inputMetadata } as unknown as Onnx.InferenceSession };
}

describe('speculative decoding', () => {
  const short = [3, 4, 5, 6, 7];
  const decode = async (draftTokens?: readonly number[], most = 40, text = short) => {
    const { runs, decoder } = decoderOf(text);
    const onnx = { Tensor } as unknown as OnnxRuntime;
    const told: number[] = [];
    const onToken = (token: number, logits: Float32Array) => told.push(logits[token] === 1 ? token : -1);
    const options = { prompt: [startToken], endToken, most, draftTokens, onToken };
    const { tokens, nothing } = await decodeGreedily(onnx, decoder, {} as Onnx.Tensor, options);
    return { tokens, nothing, runs: runs.length, told };
  };
  // The right token has e times the share of each of the nine others.
  const nothing = expect.closeTo(1 / (Math.E + vocabulary - 1));

  it.each([
    ['none', undefined, 6],
    ['all of it', [3, 4, 5, 6, 7], 1],
    ['the beginning', [3, 4, 5], 3],
    ['the beginning and a wrong word', [3, 4, 8], 4],
    ['the beginning and wrong words that are longer than the text', [3, 8, 8, 8, 8, 8, 8, 8], 5],
    ['more than was said', [3, 4, 5, 6, 7, 8], 1],
    ['nothing that is right', [8, 8], 6],
  ])(
    'changes nothing but the number of runs, and tells how likely no words are: %s',
    async (_, draftTokens, runs) => {
      const told = [...short, endToken];
      expect(await decode(draftTokens)).toEqual({ tokens: short, nothing, runs, told });
    },
  );

  it.each([
    ['another word', [3, 4, 0, 6, 7, 8, 3, 4, 5, 6], 3],
    ['a word too many', [3, 4, 0, 5, 6, 7, 8, 3, 4, 5, 6], 2],
    ['a word too few', [3, 4, 6, 7, 8, 3, 4, 5, 6], 3],
    ['a word in more pieces', [3, 4, 0, 0, 0, 6, 7, 8, 3, 4, 5, 6], 3],
    ['other words at two places', [3, 0, 5, 6, 7, 0, 3, 4, 5, 6], 5],
    ['words that come again later', [0, 3, 4, 5, 3, 4, 5, 6], 6],
    ['many wrong words', [3, 0, 5, 0, 7, 0, 3, 0, 5, 0, 3, 3, 3], 10],
  ])('goes on with a draft behind the place where it has %s', async (_, draftTokens, runs) => {
    const text = [3, 4, 5, 6, 7, 8, 3, 4, 5, 6];
    const told = [...text, endToken];
    const decoded = await decode(draftTokens, 40, text);
    expect(decoded).toEqual({ tokens: text, nothing, runs: expect.any(Number), told });
    expect(decoded.runs).toBeLessThanOrEqual(runs);
    for (let most = 1; most < text.length; most += 1)
      expect((await decode(draftTokens, most, text)).tokens).toEqual(text.slice(0, most));
  });

  it('does not make the text longer than it may be', async () => {
    expect((await decode([3, 4, 5], 2)).tokens).toEqual([3, 4]);
    expect((await decode([3], 2)).tokens).toEqual([3, 4]);
  });
});
