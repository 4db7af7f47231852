import { createBatcher } from '../worker/batcher.ts';
import type { WorkerHost } from '../worker/host.ts';
import { InTurn } from '../worker/in-turn.ts';
import type { ActivityDetector } from './detector.ts';
import { emptyMemory, type SileroAnswer, type SileroRow, windowLength } from './silero/model.ts';

/** Windows of one caller that may wait: three seconds. */
const mostWaiting = 100;

/** Opens detectors whose work is done by one worker, for all callers at once. */
export function createDetectors(host: WorkerHost): () => ActivityDetector {
  const judge = createBatcher<SileroRow, SileroAnswer>(host);
  return () => openDetector(judge);
}

/** Windows of one caller are judged in their order, each with the memory of the one before. */
function openDetector(judge: (row: SileroRow) => Promise<SileroAnswer>): ActivityDetector {
  const turns = new InTurn(mostWaiting);
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
      return turns.run(() => accept(samples));
    },
    reset() {
      generation += 1;
      memory = emptyMemory();
    },
    close: () => turns.settled(),
  };
}
