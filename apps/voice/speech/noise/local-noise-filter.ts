import { Mutex } from '@trunkline/std';
import { createBatcher, inOrder } from '../worker/batcher.ts';
import type { WorkerHost } from '../worker/host.ts';
import type { NoiseFilter } from './noise-filter.ts';
import { frameLength } from './rnnoise/model.ts';

/** A frame of a caller; one without samples ends what is remembered of the caller. */
export interface NoiseRow {
  caller: number;
  samples: Float32Array | undefined;
}

/** Frames of one caller that may wait: one second. */
const maxWaitingFrames = 100;

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
