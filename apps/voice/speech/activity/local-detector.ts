import { SpeechError } from '../speech-error.ts';
import type { WorkerHost } from '../worker/host.ts';
import type { ActivityDetector } from './detector.ts';
import { emptyMemory, type SileroAnswer, type SileroRow, windowLength } from './silero/model.ts';

/** Frames of one caller that may wait, three seconds. */
const mostWaiting = 100;

interface Waiting {
  row: SileroRow;
  resolve(answer: SileroAnswer): void;
  reject(error: unknown): void;
}

/** Opens detectors whose work is done by one worker: what several callers bring meanwhile goes to it in one batch. */
export function createDetectors(host: WorkerHost): () => ActivityDetector {
  const waiting: Waiting[] = [];
  let working = false;
  const work = async () => {
    if (working) return;
    working = true;
    while (waiting.length > 0) await judgeAll(host, waiting.splice(0));
    working = false;
  };
  const judge = (row: SileroRow) => {
    const answer = new Promise<SileroAnswer>((resolve, reject) => waiting.push({ row, resolve, reject }));
    void work();
    return answer;
  };
  return () => openDetector(judge);
}

async function judgeAll(host: WorkerHost, batch: readonly Waiting[]): Promise<void> {
  try {
    const answers = await host.ask<SileroAnswer[]>(batch.map(({ row }) => row));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const answer = answers[index];
      if (answer === undefined) reject(new Error('the voice activity model left out an answer'));
      else resolve(answer);
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

/** Frames of one caller are judged in their order, each with the memory of the one before. */
function openDetector(judge: (row: SileroRow) => Promise<SileroAnswer>): ActivityDetector {
  let memory = emptyMemory();
  let generation = 0;
  let before: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const accept = async (samples: Float32Array) => {
    const mine = generation;
    const { probability, memory: next } = await judge({ samples, memory });
    if (mine === generation) memory = next;
    return probability;
  };
  const leave = () => {
    waiting -= 1;
  };
  return {
    accept(samples) {
      if (samples.length !== windowLength)
        return Promise.reject(new RangeError(`voice activity is judged on ${windowLength} samples`));
      if (waiting >= mostWaiting)
        return Promise.reject(new SpeechError('busy', 'voice activity cannot keep up with the caller'));
      waiting += 1;
      const turn = before.then(() => accept(samples));
      before = turn.then(leave, leave);
      return turn;
    },
    reset() {
      generation += 1;
      memory = emptyMemory();
    },
    async close() {
      await before;
    },
  };
}
