import type * as Onnx from 'onnxruntime-node';
import type { OnnxRuntime } from '../../weights.ts';

/** 32 ms at 16 kHz. */
export const windowLength = 512;
/** Samples of the previous window that the model takes too. */
const contextLength = 64;
const stateLength = 128;
const rowLength = contextLength + windowLength;

/** The model's state for one caller. */
export interface SileroMemory {
  context: Float32Array;
  /** Two layers, concatenated. */
  state: Float32Array;
}

export interface SileroRow {
  samples: Float32Array;
  memory: SileroMemory;
}

export interface SileroAnswer {
  probability: number;
  memory: SileroMemory;
}

/** Gives the probability of speech, for many callers in one run. */
export interface Silero {
  judge(rows: readonly SileroRow[]): Promise<SileroAnswer[]>;
}

export function emptyMemory(): SileroMemory {
  return { context: new Float32Array(contextLength), state: new Float32Array(2 * stateLength) };
}

export async function loadSilero(onnx: OnnxRuntime, path: string): Promise<Silero> {
  const session = await onnx.InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  return { judge: (rows) => judge(onnx, session, rows) };
}

async function judge(
  onnx: OnnxRuntime,
  session: Onnx.InferenceSession,
  rows: readonly SileroRow[],
): Promise<SileroAnswer[]> {
  const count = rows.length;
  const { output, stateN } = await session.run({
    input: new onnx.Tensor('float32', inputOf(rows), [count, rowLength]),
    state: new onnx.Tensor('float32', statesOf(rows), [2, count, stateLength]),
    sr: new onnx.Tensor('int64', BigInt64Array.of(16_000n), []),
  });
  const probabilities = output?.data as Float32Array;
  const states = stateN?.data as Float32Array;
  return rows.map(({ samples }, index) => ({
    probability: probabilities[index] ?? 0,
    memory: { context: samples.slice(-contextLength), state: stateOf(states, index, count) },
  }));
}

function inputOf(rows: readonly SileroRow[]): Float32Array {
  const input = new Float32Array(rows.length * rowLength);
  for (const [index, { samples, memory }] of rows.entries()) {
    input.set(memory.context, index * rowLength);
    input.set(samples, index * rowLength + contextLength);
  }
  return input;
}

/** The model takes the first layers of all callers, then the second ones. */
function statesOf(rows: readonly SileroRow[]): Float32Array {
  const states = new Float32Array(2 * rows.length * stateLength);
  for (const [index, { memory }] of rows.entries()) {
    states.set(memory.state.subarray(0, stateLength), index * stateLength);
    states.set(memory.state.subarray(stateLength), (rows.length + index) * stateLength);
  }
  return states;
}

function stateOf(states: Float32Array, index: number, count: number): Float32Array {
  const state = new Float32Array(2 * stateLength);
  state.set(states.subarray(index * stateLength, (index + 1) * stateLength));
  state.set(states.subarray((count + index) * stateLength, (count + index + 1) * stateLength), stateLength);
  return state;
}
