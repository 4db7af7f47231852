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

/**
 * Members that come and go all the time, in no order.
 *
 * A Map or Set with such members is rebuilt every few of them, and V8 links each old table to the next one: a single
 * table that reached the old generation keeps everything that was in the later ones alive until the next full
 * collection. With requests as members that cost a fifth of their processor time.
 */
export class Roster<Member> {
  readonly #places: { member: Member; index: number }[] = [];

  /** Returns the function that removes it. */
  add(member: Member): () => void {
    const place = { member, index: this.#places.length };
    this.#places.push(place);
    return () => {
      if (this.#places[place.index] !== place) return;
      const last = this.#places.pop();
      if (last === undefined || last === place) return;
      last.index = place.index;
      this.#places[place.index] = last;
    };
  }

  /** Those of now; what comes or goes meanwhile changes nothing. */
  all(): Member[] {
    return this.#places.map(({ member }) => member);
  }
}

/** Makes a value when it is first asked for, and gives the same one from then on. For tables and such that no start needs. */
export function lazy<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
