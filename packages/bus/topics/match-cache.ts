import { hasWildcard, matchesTopic } from './topic.ts';

/** Topics in one generation; the cache holds two. */
const generationSize = 4096;
/** Values in one generation: with many subscribers to everything, each topic has a long list. */
const generationValues = 262_144;

/**
 * Remembers which values matched recent topics.
 * Two generations stand in for an order of use: what is asked for again moves to the young one,
 * and when that is full the old one goes. So memory is bounded and a hit costs one look-up.
 */
export class MatchCache<Value> {
  #young = new Map<string, readonly Value[]>();
  #old = new Map<string, readonly Value[]>();
  /** Values that the young generation was given. */
  #values = 0;
  /** Whether anything was looked up since the last wildcard pattern changed. */
  #used = false;

  get(topic: string): readonly Value[] | undefined {
    this.#used = true;
    return this.#young.get(topic) ?? this.#promote(topic);
  }

  set(topic: string, values: readonly Value[]): void {
    if (this.#young.size >= generationSize || this.#values >= generationValues) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#values = 0;
    }
    this.#young.set(topic, values);
    this.#values += values.length;
  }

  /**
   * Forgets the topics that a new or removed pattern matches.
   * In a burst of changes with no look-up between, nothing warm is worth the search: then all is forgotten.
   */
  invalidate(pattern: string): void {
    if (this.#young.size === 0 && this.#old.size === 0) return;
    if (!hasWildcard(pattern)) {
      this.#forget(pattern);
      return;
    }
    if (this.#used) this.#forgetMatching(pattern);
    else this.#clear();
    this.#used = false;
  }

  #promote(topic: string): readonly Value[] | undefined {
    const found = this.#old.get(topic);
    if (found !== undefined) this.set(topic, found);
    return found;
  }

  #forget(topic: string): void {
    this.#young.delete(topic);
    this.#old.delete(topic);
  }

  #forgetMatching(pattern: string): void {
    for (const generation of [this.#young, this.#old]) {
      for (const topic of generation.keys()) {
        if (matchesTopic(pattern, topic)) generation.delete(topic);
      }
    }
  }

  #clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#values = 0;
  }
}
