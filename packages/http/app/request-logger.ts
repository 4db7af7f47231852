import type { Logger } from './logger.ts';

/** A logger that says which request each line belongs to; made only when a line is written, as most requests write none. */
export class RequestLogger implements Logger {
  readonly #parent: Logger;
  readonly #requestId: string;
  #own: Logger | undefined;

  constructor(parent: Logger, requestId: string) {
    this.#parent = parent;
    this.#requestId = requestId;
  }

  debug(fields: object, message: string): void {
    this.#logger.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#logger.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#logger.warn(fields, message);
  }

  error(fields: object, message: string): void {
    this.#logger.error(fields, message);
  }

  child(fields: Record<string, unknown>): Logger {
    return this.#logger.child(fields);
  }

  get #logger(): Logger {
    this.#own ??= this.#parent.child({ requestId: this.#requestId });
    return this.#own;
  }
}
