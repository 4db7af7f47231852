import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Mutex } from '@trunkline/std';
import { emptyMemory, type SileroAnswer, type SileroRow, windowLength } from './activity/silero/model.ts';
import { frameLength } from './noise/rnnoise/model.ts';
import { createBatcher, inOrder } from './worker/batcher.ts';
import type { WorkerHost } from './worker/host.ts';

/** Frames of one caller that may wait: one second. */
const maxWaitingFrames = 100;

/** Windows of one caller that may wait: three seconds. */
const maxWaitingWindows = 100;

/** Tells speech from silence and noise; one per caller, as it remembers what it heard. */
export interface ActivityDetector {
  /** Takes 512 samples at 16 kHz (-1 to 1), gives the probability of speech. */
  accept(samples: Float32Array): Promise<number>;
  reset(): void;
  close(): Promise<void>;
}

/** Opens detectors whose work is done by one worker, for all callers at once. */
export function createDetectors(host: WorkerHost): () => ActivityDetector {
  const judge = createBatcher<SileroRow, SileroAnswer>(host);
  return () => openDetector(judge);
}

/** Windows of one caller are judged in their order, each with the memory of the one before. */
function openDetector(judge: (row: SileroRow) => Promise<SileroAnswer>): ActivityDetector {
  const frames = new Mutex({ maxWaiting: maxWaitingWindows });
  let memory = emptyMemory();
  let generation = 0;
  const accept = async (samples: Float32Array) => {
    const mine = generation;
    const { probability, memory: next } = await judge({ samples, memory });
    if (mine === generation) memory = next;
    return probability;
  };
  return {
    async accept(samples) {
      if (samples.length !== windowLength)
        throw new RangeError(`voice activity is judged on ${windowLength} samples`);
      return inOrder(frames, () => accept(samples));
    },
    reset() {
      generation += 1;
      memory = emptyMemory();
    },
    close: () => frames.idle(),
  };
}

/** Takes noise out of a voice; one per caller, as it remembers what it heard. */
export interface NoiseFilter {
  /** Takes 480 samples at 48 kHz (-1 to 1), gives as many. */
  accept(samples: Float32Array): Promise<Float32Array>;
  close(): Promise<void>;
}

/** A frame of a caller; one without samples ends what is remembered of the caller. */
export interface NoiseRow {
  caller: number;
  samples: Float32Array | undefined;
}

/** Opens filters whose work is done by one worker, for all callers at once. */
export function createNoiseFilters(host: WorkerHost): () => NoiseFilter {
  const filter = createBatcher<NoiseRow, Float32Array>(host);
  let callers = 0;
  return () => {
    callers += 1;
    return openFilter(callers, filter);
  };
}

function openFilter(caller: number, filter: (row: NoiseRow) => Promise<Float32Array>): NoiseFilter {
  const frames = new Mutex({ maxWaiting: maxWaitingFrames });
  return {
    async accept(samples) {
      if (samples.length !== frameLength) throw new RangeError(`noise is filtered in ${frameLength} samples`);
      return inOrder(frames, () => filter({ caller, samples }));
    },
    async close() {
      await frames.idle();
      await filter({ caller, samples: undefined });
    },
  };
}

/** A model that tells by the voice whether somebody has finished. */
export interface SmartTurn {
  /** Takes what was said so far at 16 kHz (-1 to 1), of which the last eight seconds count; gives the probability. */
  judge(samples: Float32Array, signal?: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

export interface SmartTurnSettings {
  path: string;
}

/** The model does not come with the installation: its owner puts it into the directory under this name. */
export function smartTurnPath(directory: string): string | undefined {
  const path = join(directory, 'smart-turn.onnx');
  return existsSync(path) ? path : undefined;
}

/** Opens judges whose work is done by one worker. */
export function createSmartTurns(host: WorkerHost): () => SmartTurn {
  return () => ({
    judge: (samples, signal) => host.ask<number>(samples, { signal }),
    close: async () => undefined,
  });
}
