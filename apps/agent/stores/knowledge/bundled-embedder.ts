import { Worker } from 'node:worker_threads';
import { toError } from '@trunkline/std';
import type { Embedder } from './embedder.ts';

interface Answer {
  id: number;
  vectors?: number[][];
  error?: string;
}

interface Waiting {
  resolve(vectors: number[][]): void;
  reject(error: Error): void;
}

/** The sentence embeddings that come with the package, in a thread of their own that starts with the first text. */
export function bundledEmbedder(script = new URL('./embedding-worker.ts', import.meta.url)): Embedder {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let count = 0;

  function fail(error: Error): void {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    worker = undefined;
  }

  function start(): Worker {
    const started = new Worker(script, { stdout: true, stderr: true });
    started.unref();
    started.on('message', ({ id, vectors, error }: Answer) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (vectors === undefined) asked?.reject(new Error(error ?? 'the embeddings failed'));
      else asked?.resolve(vectors);
    });
    started.on('error', (error) => fail(toError(error)));
    started.on('exit', () => fail(new Error('the embeddings have stopped')));
    return started;
  }

  return {
    model: 'bundled-en',
    leastLikeness: 0.4,
    embed(texts) {
      worker ??= start();
      count += 1;
      const id = count;
      const answer = new Promise<number[][]>((resolve, reject) => waiting.set(id, { resolve, reject }));
      worker.postMessage({ id, texts });
      return answer;
    },
    async close() {
      const running = worker;
      worker = undefined;
      await running?.terminate();
    },
  };
}
