/** A map that forgets the entry that was set longest ago when it would hold more than the limit. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    const [oldest] = this.keys();
    if (this.size > this.#limit && oldest !== undefined) this.delete(oldest);
    return this;
  }
}
