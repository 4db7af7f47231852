import { parentPort } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';

/** `ready` comes once, when the thread can take tasks. */
export type ParserReply<Result> = { ready: true } | { result: Result } | { problem: string };

const MOST_BUFFER_BYTES = 256 * 1024 * 1024;
const LOOK_EVERY_MS = 50;
/** How a thread or process ends whose buffers grew too large. */
export const OUT_OF_MEMORY = 86;

/** Parses what a ParserPool hands to this thread or process, one task after the other; an error's message completes "it ...". */
export function serveParser<Task, Result>(parse: (task: Task) => Result | Promise<Result>): void {
  const answer = (task: Task) => {
    const watch = watchBuffers();
    // Also turns what `parse` throws at once into a rejection.
    new Promise<Result>((resolve) => resolve(parse(task)))
      .then(
        (result) => reply({ result }),
        (error: unknown) => reply({ problem: errorMessage(error) }),
      )
      .finally(() => clearInterval(watch));
  };
  if (parentPort === null) {
    process.on('message', answer as (task: unknown) => void);
    process.on('disconnect', () => process.exit());
  } else parentPort.on('message', answer);
  reply({ ready: true });
}

function reply(message: ParserReply<unknown>): void {
  if (parentPort === null) process.send?.(message);
  else parentPort.postMessage(message);
}

/** Buffers do not count towards the limit of a thread's heap. Only during a task: a thread that rests is not to wake up. */
function watchBuffers(): NodeJS.Timeout {
  return setInterval(() => {
    if (process.memoryUsage().arrayBuffers > MOST_BUFFER_BYTES) process.exit(OUT_OF_MEMORY);
  }, LOOK_EVERY_MS).unref();
}
