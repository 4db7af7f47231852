import { parentPort } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';
import type { HostMessage, WorkerMessage } from './thread.ts';

/** Time that models have taken to load, in milliseconds. */
let loadedMs = 0;

/** The worker's side: does what the host asks for. The host sends one piece of work at a time. */
export function serveWork<Work>(handle: (work: Work, signal: AbortSignal) => Promise<unknown>): void {
  const port = parentPort;
  if (port === null) throw new Error('this module runs in a worker thread only');
  const running = new Map<number, AbortController>();
  const send = (message: WorkerMessage) => port.postMessage(message);
  port.on('message', (message: HostMessage) => {
    const { id } = message;
    if ('cancel' in message) return void running.get(id)?.abort();
    const controller = new AbortController();
    running.set(id, controller);
    const [startedAt, loadedBefore] = [performance.now(), loadedMs];
    const workMs = () => performance.now() - startedAt - (loadedMs - loadedBefore);
    void handle(message.work as Work, controller.signal)
      .then(
        (value) => send({ id, value, workMs: workMs() }),
        (error: unknown) =>
          send({ id, error: { message: errorMessage(error), code: codeOf(error) }, workMs: workMs() }),
      )
      .finally(() => running.delete(id));
  });
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Loads a model once, when first needed; the time does not count as work. After a failure, which may be repaired while the service runs, it loads again. */
export function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return async () => {
    loading ??= timed(load);
    try {
      return await loading;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
}

async function timed<Value>(load: () => Promise<Value>): Promise<Value> {
  const startedAt = performance.now();
  try {
    return await load();
  } finally {
    loadedMs += performance.now() - startedAt;
  }
}
