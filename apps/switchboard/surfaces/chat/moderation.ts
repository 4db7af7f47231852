import type { ChatFile } from '../../workspace/schema/chat.ts';

export type Ruling = 'pass' | 'spam' | 'too-many';

const mostUsers = 10_000;

/** Decides which messages are heard: no spam, and from nobody more than the limit. */
export class Moderation {
  readonly #config: () => ChatFile['moderation'];
  readonly #now: () => number;
  readonly #times = new Map<string, number[]>();

  constructor(config: () => ChatFile['moderation'], now: () => number = Date.now) {
    this.#config = config;
    this.#now = now;
  }

  judge(userId: string, content: string): Ruling {
    const { spamPatterns, rateLimit } = this.#config();
    if (spamPatterns.some((pattern) => new RegExp(pattern, 'i').test(content))) return 'spam';
    if (rateLimit === undefined) return 'pass';
    const since = this.#now() - rateLimit.windowSeconds * 1000;
    const recent = (this.#times.get(userId) ?? []).filter((time) => time > since);
    if (recent.length >= rateLimit.maxMessages) return 'too-many';
    this.#times.delete(userId);
    this.#times.set(userId, [...recent, this.#now()]);
    const oldest = this.#times.keys().next().value;
    if (this.#times.size > mostUsers && oldest !== undefined) this.#times.delete(oldest);
    return 'pass';
  }
}
