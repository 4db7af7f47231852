import { readFile } from 'node:fs/promises';
import type * as Onnx from 'onnxruntime-node';
import { expect, it } from 'vitest';
import { loadOnnx, provenPaths } from '../../weights.ts';
import { decodeGreedily } from '../greedy-decoder.ts';
import { withQuantizedLogits } from './quantized-logits.ts';

const read = async (name: string) => readFile((await provenPaths(name))[0] ?? '');

it.each([
  ['tiny', 288],
  ['base', 416],
])(
  'the decoder %s gives nearly the same numbers',
  async (size, width) => {
    const onnx = await loadOnnx();
    const weights = await read(`Moonshine ${size} decoder`);
    const quantized = withQuantizedLogits(weights);
    expect(quantized?.length).toBeGreaterThan(weights.length);
    // Some sound: what matters is that both hear the same.
    const values = Float32Array.from({ length: 60 * width }, (_, index) => Math.sin(index * index) / 2);
    const hidden = new onnx.Tensor('float32', values, [1, 60, width]);
    const decode = async (model: Uint8Array) => {
      const decoder = await onnx.InferenceSession.create(model);
      const numbers: Float32Array[] = [];
      const onToken = (_: number, logits: Float32Array) => numbers.push(logits.slice());
      // The first token without the cache, the numbers of the second with it.
      const options = { prompt: [1], endToken: 2, most: 2, draftTokens: [400, 500], onToken };
      const { tokens } = await decodeGreedily(onnx, decoder as Onnx.InferenceSession, hidden, options);
      return { tokens, numbers };
    };
    const [exact, changed] = [await decode(weights), await decode(quantized ?? weights)];
    expect(changed.tokens[0]).toBe(exact.tokens[0]);
    expect(exact.numbers.length).toBe(2);
    for (const [step, logits] of exact.numbers.entries()) {
      const furthest = Math.max(
        ...logits.map((value, token) => Math.abs(value - (changed.numbers[step]?.[token] ?? 0))),
      );
      expect(furthest).toBeGreaterThan(0);
      expect(furthest).toBeLessThan(0.5);
    }
  },
  300_000,
);

it('leaves a model alone that is built in another way', async () => {
  expect(withQuantizedLogits(await read('Moonshine tiny encoder'))).toBeUndefined();
  expect(withQuantizedLogits(await read('Silero VAD 5'))).toBeUndefined();
  expect(() => withQuantizedLogits(Buffer.from('no model at all'))).toThrow('the speech model is damaged');
});
