import { Mutex } from '@trunkline/std';
import { createBatcher, inOrder } from '../worker/batcher.ts';
import type { WorkerHost } from '../worker/host.ts';
import type { ActivityDetector } from './detector.ts';
import { emptyMemory, type SileroAnswer, type SileroRow, windowLength } from './silero/model.ts';

/** Windows of one caller that may wait: three seconds. */
const maxWaitingWindows = 100;

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
