/** A response that is still being written; the server ends it when it stops. */
export interface OpenStream {
  end(): void;
}

/** The open streams of a server. After `endAll`, a new stream is ended as soon as it was added. */
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
