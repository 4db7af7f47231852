/** What a `DueHeap` holds. The heap keeps `heapIndex` up to date; -1 means that the item is not in it. */
export interface Due {
  dueAt: number;
  /** Decides between items that are due at the same time. */
  readonly order: number;
  heapIndex: number;
}

/** A binary heap with the item that is due first on top. Each item knows its place, so that it can be moved or removed. */
export class DueHeap<Item extends Due> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  /** Puts an item in, or to its right place after its time has changed. */
  place(item: Item): void {
    if (item.heapIndex < 0) this.#set(this.#items.length, item);
    this.#rise(item);
    this.#sink(item);
  }

  /** Takes an item out; one that is not in the heap is left alone. */
  remove(item: Item): void {
    const index = item.heapIndex;
    if (index < 0) return;
    const last = this.#items.pop();
    item.heapIndex = -1;
    if (last === undefined || last === item) return;
    this.#set(index, last);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(item: Item): void {
    for (;;) {
      const parent = this.#items[(item.heapIndex - 1) >> 1];
      if (parent === undefined || !isBefore(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const left = this.#items[item.heapIndex * 2 + 1];
      const right = this.#items[item.heapIndex * 2 + 2];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, item)) return;
      this.#swap(item, child);
    }
  }

  #swap(one: Item, other: Item): void {
    const index = one.heapIndex;
    this.#set(other.heapIndex, one);
    this.#set(index, other);
  }

  #set(index: number, item: Item): void {
    this.#items[index] = item;
    item.heapIndex = index;
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.order < other.order);
}
