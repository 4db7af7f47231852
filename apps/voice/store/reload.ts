/** Runs one reload at a time, so that an older result never replaces a newer one. Callers during a reload share the next. */
export class Reloader {
  readonly #read: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  /** Resolves after a reload that started after this call; rejects when it fails. */
  run(): Promise<void> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<void> {
    this.#next = undefined;
    const reading = this.#read();
    this.#running = Promise.allSettled([reading]).then(() => {
      if (this.#next === undefined) this.#running = undefined;
    });
    return reading;
  }
}

export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
