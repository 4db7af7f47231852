import { parentPort } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';
import type { HostMessage, WorkerMessage } from './host.ts';

type Handler<Work> = (work: Work, signal: AbortSignal) => AsyncIterable<unknown>;

/** The worker's side: does what the host asks for, one piece of work at a time as the host sends no more. */
export function serveWork<Work>(handle: Handler<Work>): void {
  const port = parentPort;
  if (port === null) throw new Error('this module runs in a worker thread only');
  const running = new Map<number, AbortController>();
  const send = (message: WorkerMessage) => port.postMessage(message);
  port.on('message', (message: HostMessage) => {
    if ('cancel' in message) return void running.get(message.id)?.abort();
    const controller = new AbortController();
    running.set(message.id, controller);
    void run(handle(message.work as Work, controller.signal), message.id, controller.signal, send).finally(
      () => running.delete(message.id),
    );
  });
}

async function run(
  values: AsyncIterable<unknown>,
  id: number,
  signal: AbortSignal,
  send: (message: WorkerMessage) => void,
): Promise<void> {
  try {
    for await (const value of values) {
      if (signal.aborted) break;
      send({ id, value });
    }
    send({ id, end: true });
  } catch (error) {
    send({ id, error: { message: errorMessage(error), code: codeOf(error) } });
  }
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Loads once, when first needed. After a failure, which may be repaired while the service runs, it loads again. */
export function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return async () => {
    loading ??= load();
    try {
      return await loading;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
}
