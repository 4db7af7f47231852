import { type Mutex, QueueFullError } from '@trunkline/std';
import { SpeechError } from '../speech-error.ts';
import type { WorkerHost } from './host.ts';

interface Waiting<Row, Answer> {
  row: Row;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Collects rows of many callers while the worker is busy, and sends them as one batch. */
export function createBatcher<Row, Answer>(host: WorkerHost): (row: Row) => Promise<Answer> {
  const waiting: Waiting<Row, Answer>[] = [];
  let working = false;
  const work = async () => {
    if (working) return;
    working = true;
    while (waiting.length > 0) await answerAll(host, waiting.splice(0));
    working = false;
  };
  return (row) => {
    const answer = new Promise<Answer>((resolve, reject) => waiting.push({ row, resolve, reject }));
    void work();
    return answer;
  };
}

async function answerAll<Row, Answer>(
  host: WorkerHost,
  batch: readonly Waiting<Row, Answer>[],
): Promise<void> {
  try {
    const answers = await host.ask<Answer[]>(batch.map(({ row }) => row));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const answer = answers[index];
      if (answer === undefined) reject(new SpeechError('crashed', 'the worker left out an answer'));
      else resolve(answer);
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

/** Processes the frames of one caller in order; if too many wait, rejects with `busy`. */
export async function inOrder<Value>(frames: Mutex, work: () => Promise<Value>): Promise<Value> {
  try {
    return await frames.run(work);
  } catch (error) {
    if (!(error instanceof QueueFullError)) throw error;
    throw new SpeechError('busy', 'this machine cannot keep up with the caller', { cause: error });
  }
}
