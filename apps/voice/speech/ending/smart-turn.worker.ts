import { workerData } from 'node:worker_threads';
import type { SmartTurnSettings } from '../frame-models.ts';
import { loadOnnx } from '../weights.ts';
import { once, serveWork } from '../worker/serve.ts';
import { melFeatures } from './mel.ts';

const { path } = workerData as SmartTurnSettings;
const length = 8 * 16_000;
const shape = [1, 80, 800];

const model = once(async () => {
  const onnx = await loadOnnx();
  const session = await onnx.InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  return { onnx, session };
});

serveWork(async (samples: Float32Array) => {
  const { onnx, session } = await model();
  const features = melFeatures(levelled(lastSeconds(samples)));
  const [input = 'input_features'] = session.inputNames;
  const output = await session.run({ [input]: new onnx.Tensor('float32', features, shape) });
  const [answer] = Object.values(output);
  return Number(answer?.data[0] ?? 0);
});

/** The last eight seconds; shorter sound is padded in front. */
function lastSeconds(samples: Float32Array): Float32Array {
  const whole = new Float32Array(length);
  const last = samples.subarray(-length);
  whole.set(last, length - last.length);
  return whole;
}

/** The model was trained on sound of mean 0 and variance 1. */
function levelled(samples: Float32Array): Float32Array {
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  const spread = samples.reduce((sum, sample) => sum + (sample - mean) ** 2, 0) / samples.length;
  return samples.map((sample) => (sample - mean) / Math.sqrt(spread + 1e-7));
}
