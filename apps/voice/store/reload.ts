/**
 * Reads something anew, one reading at a time: what was read earlier never takes the place of what was read later, and
 * all who ask while a reading is under way share the next one.
 */
export class Renewal {
  readonly #read: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  /** Fulfilled once everything was read after this was called; fails when it cannot be read. */
  run(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(() => this.#begin());
    return this.#next;
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    const reading = this.#read();
    this.#running = Promise.allSettled([reading]).then(() => {
      if (this.#next === undefined) this.#running = undefined;
    });
    return reading;
  }
}

/** Whether a failure of the file system says that there is no such file. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
