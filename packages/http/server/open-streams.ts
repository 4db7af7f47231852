import type { OpenStream } from '../app/context.ts';

/** The answers that are still being written; once all were ended, a new one ends as soon as it has begun. */
export class OpenStreams {
  readonly #streams = new Set<OpenStream>();
  #ended = false;

  add(stream: OpenStream): void {
    this.#streams.add(stream);
    if (this.#ended) setImmediate(() => stream.end());
  }

  delete(stream: OpenStream): void {
    this.#streams.delete(stream);
  }

  endAll(): void {
    this.#ended = true;
    for (const stream of this.#streams) stream.end();
  }
}
