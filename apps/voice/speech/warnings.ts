import type { Logger } from '@trunkline/config';
import { BoundedMap } from '@trunkline/std';

const logEveryMs = 60_000;
const maxWarnings = 20;

interface Warning {
  text: string;
  loggedAt: number;
}

/** Warnings about speech: logged at most once a minute, and shown in `/healthz` until resolved. */
export class SpeechWarnings {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #warnings = new BoundedMap<string, Warning>(maxWarnings);

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  get texts(): string[] {
    return [...this.#warnings.values()].map(({ text }) => text);
  }

  /** A newer warning with the same key replaces the older one. */
  report(key: string, text: string, fields: object = {}): void {
    const before = this.#warnings.get(key);
    const isDue = before === undefined || this.#now() - before.loggedAt >= logEveryMs;
    if (isDue) this.#logger.warn(fields, text);
    this.#warnings.set(key, { text, loggedAt: isDue ? this.#now() : before.loggedAt });
  }

  resolve(key: string, text: string): void {
    if (this.#warnings.delete(key)) this.#logger.info({}, text);
  }
}
