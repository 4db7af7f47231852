/** A first-in first-out queue that holds at most `limit` items. Storage grows by doubling, up to the limit. */
export class BoundedQueue<Item extends object> {
  readonly limit: number;
  #items: (Item | undefined)[] = [];
  #head = 0;
  #length = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  get room(): number {
    return this.limit - this.#length;
  }

  /** False when the queue is full. */
  push(item: Item): boolean {
    if (this.#length >= this.limit) return false;
    if (this.#length === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#length) % this.#items.length] = item;
    this.#length += 1;
    return true;
  }

  shift(): Item | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#items.length;
    this.#length -= 1;
    return item;
  }

  /** Empties the queue and gives what was in it, in order. */
  clear(): Item[] {
    const left: Item[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) left.push(item);
    this.#items = [];
    this.#head = 0;
    return left;
  }

  #grow(): void {
    const ordered = [...this.#items.slice(this.#head), ...this.#items.slice(0, this.#head)];
    ordered.length = Math.min(this.limit, Math.max(16, this.#items.length * 2));
    this.#items = ordered;
    this.#head = 0;
  }
}
