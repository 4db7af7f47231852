import type { ChatFile } from '../../workspace/schema/chat.ts';
import type { HeardMessage } from './inbound.ts';

export type Ruling = 'pass' | 'spam' | 'too-many';

const mostUsers = 10_000;
const mostRulings = 10_000;
/** When the ids of the platform begin. */
const firstMs = 1_420_070_400_000;

/** Decides which messages are heard: no spam, and from nobody more than the limit. */
export class Moderation {
  readonly #config: () => ChatFile['moderation'];
  readonly #times = new Map<string, number[]>();
  /** A message is judged once, however many bots hear it and however often. */
  readonly #rulings = new Map<string, Ruling>();

  constructor(config: () => ChatFile['moderation']) {
    this.#config = config;
  }

  judge(heard: HeardMessage): Ruling {
    const known = this.#rulings.get(heard.id);
    if (known !== undefined) return known;
    const ruling = this.#rule(heard);
    this.#rulings.set(heard.id, ruling);
    dropOldest(this.#rulings, mostRulings);
    return ruling;
  }

  #rule({ id, author, content }: HeardMessage): Ruling {
    const { spamPatterns, rateLimit } = this.#config();
    if (spamPatterns.some((pattern) => new RegExp(pattern, 'i').test(content))) return 'spam';
    if (rateLimit === undefined) return 'pass';
    const at = saidAt(id);
    const since = at - rateLimit.windowSeconds * 1000;
    const recent = (this.#times.get(author.id) ?? []).filter((time) => time > since);
    if (recent.length >= rateLimit.maxMessages) return 'too-many';
    this.#times.delete(author.id);
    this.#times.set(author.id, [...recent, at]);
    dropOldest(this.#times, mostUsers);
    return 'pass';
  }
}

/** The ids of the platform hold the time: what is read after an outage was not said all at once. */
function saidAt(messageId: string): number {
  return Number(BigInt(messageId) >> 22n) + firstMs;
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const oldest = map.keys().next().value;
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
