import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

type Part = LanguageModelV4StreamPart;

/**
 * The parts of an answer as they arrive, several at a time. Web streams cost more for each part than all that is done
 * with it, so our own layers hand batches to each other, and only who stands outside reads a stream.
 */
export interface Batches {
  /** The next parts, one at least; undefined at the end. */
  next(): Promise<Part[] | undefined>;
  cancel(reason?: unknown): void | Promise<void>;
}

const sources = new WeakMap<ReadableStream<Part>, Batches>();

export function streamOf(batches: Batches): ReadableStream<Part> {
  const stream = new ReadableStream<Part>(
    {
      async pull(controller) {
        const parts = await batches.next();
        if (parts === undefined) controller.close();
        else for (const part of parts) controller.enqueue(part);
      },
      cancel: (reason) => batches.cancel(reason),
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  );
  sources.set(stream, batches);
  return stream;
}

/** Takes a stream over that nobody has read from. */
export function batchesOf(stream: ReadableStream<Part>): Batches {
  return sources.get(stream) ?? fromReader(stream.getReader());
}

function fromReader(reader: ReadableStreamDefaultReader<Part>): Batches {
  return {
    async next() {
      const { done, value } = await reader.read();
      return done ? undefined : [value];
    },
    cancel: (reason) => reader.cancel(reason),
  };
}
