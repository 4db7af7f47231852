import type { Logger } from '@trunkline/config';

const oncePer = 60_000;
const mostKept = 20;

interface Notice {
  words: string;
  loggedAt: number;
}

/** What the owner should know about speech: logged once in a while, and shown until it is over. */
export class Notices {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #notices = new Map<string, Notice>();

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  get words(): string[] {
    return [...this.#notices.values()].map(({ words }) => words);
  }

  tell(key: string, words: string, fields: object = {}): void {
    const before = this.#notices.get(key);
    const isDue = before === undefined || this.#now() - before.loggedAt >= oncePer;
    if (isDue) this.#logger.warn(fields, words);
    this.#notices.delete(key);
    this.#notices.set(key, { words, loggedAt: isDue ? this.#now() : before.loggedAt });
    const [oldest] = this.#notices.keys();
    if (this.#notices.size > mostKept && oldest !== undefined) this.#notices.delete(oldest);
  }

  /** What was told is over. */
  clear(key: string, words: string): void {
    if (this.#notices.delete(key)) this.#logger.info({}, words);
  }
}
