import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type * as Onnx from 'onnxruntime-node';
import type { OnnxRuntime } from '../../../onnx.ts';
import { SpeechError } from '../../../speech-error.ts';
import { provenPaths } from '../../../weights.ts';
import { symbolNumbers } from './symbols.ts';
import { widenModel } from './widen.ts';

export const kokoroRate = 24_000;
/** The most symbols that the model takes at once. */
const longest = 508;
const styleLength = 256;

/** A model of 82 million parameters that speaks phonemes with any of its voices. */
export interface Kokoro {
  speak(phonemes: string, voice: string): Promise<Float32Array>;
}

export async function loadKokoro(onnx: OnnxRuntime): Promise<Kokoro> {
  const parts = await provenPaths('Kokoro 82M');
  const bytes = Buffer.concat(await Promise.all(parts.map((path) => readFile(path))));
  const session = await onnx.InferenceSession.create(widenModel(bytes), {
    intraOpNumThreads: Math.min(2, availableParallelism()),
    interOpNumThreads: 1,
    // Goes on as fast, and uses less of the processor than with all of them.
    graphOptimizationLevel: 'extended',
    // Threads that wait in a loop would take the cores from the calls.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  const styles = createStyles(await provenPaths('Kokoro voices'));
  return {
    async speak(phonemes, voice) {
      const numbers = symbolNumbers(phonemes).slice(0, longest);
      return run(onnx, session, numbers, (await styles(voice)).subarray(numbers.length * styleLength));
    },
  };
}

async function run(
  onnx: OnnxRuntime,
  session: Onnx.InferenceSession,
  numbers: readonly number[],
  styles: Float32Array,
): Promise<Float32Array> {
  const padded = BigInt64Array.from([0, ...numbers, 0], (number) => BigInt(number));
  const { waveform } = await session.run({
    input_ids: new onnx.Tensor('int64', padded, [1, padded.length]),
    style: new onnx.Tensor('float32', styles.slice(0, styleLength), [1, styleLength]),
    speed: new onnx.Tensor('float32', Float32Array.of(1), [1]),
  });
  const samples = waveform?.data;
  if (!(samples instanceof Float32Array) || samples.some(Number.isNaN))
    throw new SpeechError('unreadable', 'the voice model gives no sound');
  return samples;
}

/** How a voice sounds, for each number of symbols; half a megabyte a voice, kept once it was used. */
function createStyles(paths: readonly string[]): (voice: string) => Promise<Float32Array> {
  const known = new Map<string, Float32Array>();
  return async (voice) => {
    const path = paths.find((candidate) => candidate.endsWith(`/${voice}.bin`));
    if (path === undefined) throw new Error(`there is no voice ${voice}`);
    const styles = known.get(voice) ?? floatsOf(await readFile(path));
    known.set(voice, styles);
    return styles;
  };
}

function floatsOf(bytes: Buffer): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
