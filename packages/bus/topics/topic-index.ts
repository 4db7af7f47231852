import { BusError } from '../errors.ts';
import {
  collectValues,
  holdsValue,
  PatternTrie,
  type Slot,
  withoutValue,
  withValue,
} from './pattern-trie.ts';
import { checkPattern, coversPattern, hasWildcard } from './topic.ts';

/** What is journalled unless the options say otherwise: what a restart must not lose. */
export const defaultDurableTopics: readonly string[] = [
  'message.inbound.#',
  'message.outbound.#',
  'agent.skill.request',
  'agent.skill.queue.#',
  'cron.#',
  'command.#',
];

/** Recent answers are forgotten when there are more of them than this, or more values in them. */
const cachedTopics = 8192;
const cachedValues = 262_144;

/**
 * Finds the values whose patterns match a topic.
 * Patterns without wildcards stand in one map, the others in a trie, recent answers in a bounded cache.
 */
export class TopicIndex<Value extends NonNullable<unknown>> {
  readonly #exact = new Map<string, Slot<Value>>();
  readonly #wild = new PatternTrie<Value>();
  readonly #cache = new Map<string, readonly Value[]>();
  #valuesInCache = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(pattern: string, value: Value): void {
    checkPattern(pattern);
    if (hasWildcard(pattern)) this.#wild.add(pattern, value);
    else this.#exact.set(pattern, withValue(this.#exact.get(pattern), value));
    this.#forgetAnswers(pattern);
    this.#size += 1;
  }

  /** Removes one value that was added under the pattern; false when there is none. */
  remove(pattern: string, value: Value): boolean {
    const removed = hasWildcard(pattern)
      ? this.#wild.remove(pattern, value)
      : this.#removeExact(pattern, value);
    if (!removed) return false;
    this.#forgetAnswers(pattern);
    this.#size -= 1;
    return true;
  }

  /** All matching values, in no particular order. The array is shared: do not change it. */
  match(topic: string): readonly Value[] {
    return this.#cache.get(topic) ?? this.#search(topic);
  }

  #search(topic: string): readonly Value[] {
    const found: Value[] = [];
    collectValues(this.#exact.get(topic), found);
    this.#wild.match(topic, found);
    if (this.#cache.size >= cachedTopics || this.#valuesInCache >= cachedValues) this.#forgetAnswers('#');
    this.#cache.set(topic, found);
    this.#valuesInCache += found.length;
    return found;
  }

  #forgetAnswers(changedPattern: string): void {
    if (!hasWildcard(changedPattern)) {
      this.#cache.delete(changedPattern);
      return;
    }
    this.#cache.clear();
    this.#valuesInCache = 0;
  }

  #removeExact(pattern: string, value: Value): boolean {
    const slot = this.#exact.get(pattern);
    if (!holdsValue(slot, value)) return false;
    const left = withoutValue(slot, value);
    if (left === undefined) this.#exact.delete(pattern);
    else this.#exact.set(pattern, left);
    return true;
  }
}

/** The topics that are journalled. */
export class DurableTopics {
  readonly patterns: readonly string[];
  readonly #index = new TopicIndex<string>();

  constructor(patterns: readonly string[] = defaultDurableTopics) {
    for (const pattern of patterns) this.#index.add(pattern, pattern);
    this.patterns = withoutCovered(patterns);
  }

  has(topic: string): boolean {
    return this.#index.match(topic).length > 0;
  }

  /** Throws when the pattern reaches beyond the journal, where a durable subscription would miss messages. */
  checkCovers(pattern: string): void {
    if (this.patterns.some((durable) => coversPattern(durable, pattern))) return;
    const words = `A durable subscription to ${JSON.stringify(pattern)} would miss what is not journalled: choose a pattern within ${this.patterns.join(', ') || '(none)'}, add it to the durable topics, or subscribe without "durable".`;
    throw new BusError('topic_not_durable', words);
  }
}

/** Leaves out what another pattern of the list matches anyway. */
function withoutCovered(patterns: readonly string[]): string[] {
  const distinct = [...new Set(patterns)];
  return distinct.filter(
    (pattern) => !distinct.some((other) => other !== pattern && coversPattern(other, pattern)),
  );
}
