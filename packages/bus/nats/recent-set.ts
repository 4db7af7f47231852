/** Remembers the last so many items it was given. */
export class RecentSet<Item> {
  readonly #limit: number;
  readonly #items = new Set<Item>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  has(item: Item): boolean {
    return this.#items.has(item);
  }

  add(item: Item): void {
    this.#items.add(item);
    if (this.#items.size <= this.#limit) return;
    for (const oldest of this.#items) {
      this.#items.delete(oldest);
      return;
    }
  }

  clear(): void {
    this.#items.clear();
  }
}
