import { parentPort } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';

export type ParserReply<Result> = { result: Result } | { problem: string };

const MOST_BUFFER_BYTES = 256 * 1024 * 1024;
const LOOK_EVERY_MS = 50;

/** Tells a thread that nobody waits for its task any more. */
export const CANCEL = 'cancel';

/**
 * Parses what a ParserPool hands to this thread, one task after the other; an error's message completes "it ...".
 * The signal aborts in a pool of native threads only: others are terminated.
 */
export function serveParser<Task, Result>(
  parse: (task: Task, signal: AbortSignal) => Result | Promise<Result>,
): void {
  watchBuffers();
  const cancelled = new AbortController();
  parentPort?.on('message', (task: Task | typeof CANCEL) => {
    if (task === CANCEL) return cancelled.abort();
    // Also turns what `parse` throws at once into a rejection.
    new Promise<Result>((resolve) => resolve(parse(task, cancelled.signal))).then(
      (result) => reply({ result }),
      (error: unknown) => reply({ problem: errorMessage(error) }),
    );
  });
}

function reply(message: ParserReply<unknown>): void {
  parentPort?.postMessage(message);
}

/** Buffers do not count towards the limit of a thread's heap. */
function watchBuffers(): void {
  setInterval(() => {
    if (process.memoryUsage().arrayBuffers > MOST_BUFFER_BYTES) process.exit();
  }, LOOK_EVERY_MS).unref();
}
