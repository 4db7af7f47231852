import { MatchCache } from './match-cache.ts';
import { PatternTrie } from './pattern-trie.ts';
import { collectValues, holdsValue, type Slot, withoutValue, withValue } from './slot.ts';
import { checkPattern, hasWildcard } from './topic.ts';

/**
 * Finds the values whose patterns match a topic.
 * Patterns without wildcards stand in one map, the others in a trie, recent answers in a bounded cache.
 */
export class TopicIndex<Value extends NonNullable<unknown>> {
  readonly #exact = new Map<string, Slot<Value>>();
  readonly #wild = new PatternTrie<Value>();
  readonly #cache = new MatchCache<Value>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(pattern: string, value: Value): void {
    checkPattern(pattern);
    if (hasWildcard(pattern)) this.#wild.add(pattern, value);
    else this.#exact.set(pattern, withValue(this.#exact.get(pattern), value));
    this.#cache.invalidate(pattern);
    this.#size += 1;
  }

  /** Removes one value that was added under the pattern; false when there is none. */
  remove(pattern: string, value: Value): boolean {
    const removed = hasWildcard(pattern)
      ? this.#wild.remove(pattern, value)
      : this.#removeExact(pattern, value);
    if (!removed) return false;
    this.#cache.invalidate(pattern);
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
    this.#cache.set(topic, found);
    return found;
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
