import { SpeechError } from '../speech-error.ts';

/** Reads on as long as every next value comes in time; else fails, and leaves the source behind. */
export async function* withPatience<Value>(
  values: AsyncIterable<Value>,
  milliseconds: number | undefined,
): AsyncGenerator<Value, void> {
  const iterator = values[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const { value, done } = await inTime(iterator.next(), milliseconds);
      if (done) {
        isOver = true;
        return;
      }
      yield value;
    }
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    if (!isOver) await iterator.return?.();
  }
}

async function inTime<Value>(promise: Promise<Value>, milliseconds: number | undefined): Promise<Value> {
  if (milliseconds === undefined) return promise;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const words = `it gave no sound for ${milliseconds / 1000} s`;
  const timer = setTimeout(() => reject(new SpeechError('timeout', words)), milliseconds);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
