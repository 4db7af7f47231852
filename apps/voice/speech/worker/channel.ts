/** Values that come by and by, read by one reader. */
export class Channel<Value> {
  readonly #values: Value[] = [];
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wake: (() => void) | undefined;

  get isOver(): boolean {
    return this.#ended || this.#failure !== undefined;
  }

  push(value: Value): void {
    if (this.isOver) return;
    this.#values.push(value);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The first failure counts; what came before it is still read. */
  fail(error: unknown): void {
    if (this.isOver) return;
    this.#failure = { error };
    this.#wake?.();
  }

  async *read(): AsyncGenerator<Value, void> {
    for (;;) {
      const next = this.#values.shift();
      if (next !== undefined) yield next;
      else if (this.#failure !== undefined) throw this.#failure.error;
      else if (this.#ended) return;
      else await this.#news();
    }
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
