import type { Database } from '@trunkline/storage';

export interface Nearest {
  id: number;
  likeness: number;
}

interface VectorRow {
  id: number;
  vector: Uint8Array;
}

/** More vectors than this are not compared; the newest are. */
const MAX_VECTORS = 200_000;
const SCALE = 127;

/** The vectors of all chunks as one block of small whole numbers, compared one by one. */
export class VectorIndex {
  readonly #database: Database;
  readonly #model: string;
  readonly #rows = new Map<number, number>();
  #ids: number[] = [];
  #block = new Int8Array(0);
  #width = 0;
  #loaded = false;

  constructor(database: Database, model: string) {
    this.#database = database;
    this.#model = model;
  }

  put(id: number, vector: readonly number[]): void {
    const small = quantised(vector);
    this.#database
      .prepare('INSERT OR REPLACE INTO vectors (id, model, vector) VALUES (?, ?, ?)')
      .run(id, this.#model, new Uint8Array(small.buffer));
    if (this.#loaded) this.#place(id, small);
  }

  /** The wanted chunks whose meaning is closest, the closest first. */
  nearest(
    vector: readonly number[],
    count: number,
    least: number,
    isWanted: (id: number) => boolean = () => true,
  ): Nearest[] {
    this.#load();
    const query = quantised(vector);
    if (query.length !== this.#width) return [];
    const found: Nearest[] = [];
    for (const [row, id] of this.#ids.entries()) {
      const likeness = this.#likeness(row, query);
      if (likeness < least || !isAmong(found, likeness, count)) continue;
      if (isWanted(id)) insert(found, { id, likeness }, count);
    }
    return found;
  }

  forget(id: number): void {
    this.#database.prepare('DELETE FROM vectors WHERE id = ?').run(id);
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#block.fill(0, row * this.#width, (row + 1) * this.#width);
  }

  #likeness(row: number, query: Int8Array): number {
    const start = row * this.#width;
    let sum = 0;
    for (let index = 0; index < query.length; index += 1)
      sum += (this.#block[start + index] ?? 0) * (query[index] ?? 0);
    return sum / (SCALE * SCALE);
  }

  #load(): void {
    if (this.#loaded) return;
    this.#loaded = true;
    const rows = this.#database
      .prepare<VectorRow>('SELECT id, vector FROM vectors WHERE model = ? ORDER BY id DESC LIMIT ?')
      .iterate(this.#model, MAX_VECTORS);
    for (const { id, vector } of rows) this.#place(id, new Int8Array(vector));
  }

  #place(id: number, vector: Int8Array): void {
    if (this.#width === 0) this.#width = vector.length;
    if (vector.length !== this.#width) return;
    const row = this.#rows.get(id) ?? this.#ids.length;
    if (row === this.#ids.length) this.#ids.push(id);
    this.#rows.set(id, row);
    this.#reserve((row + 1) * this.#width);
    this.#block.set(vector, row * this.#width);
  }

  #reserve(size: number): void {
    if (size <= this.#block.length) return;
    const larger = new Int8Array(Math.max(size, this.#block.length * 2));
    larger.set(this.#block);
    this.#block = larger;
  }
}

/** Of length one, in steps of 1/127: a fourth of the space, and the order of results hardly changes. */
function quantised(vector: readonly number[]): Int8Array {
  const length = Math.hypot(...vector) || 1;
  return Int8Array.from(vector, (value) => Math.round((value / length) * SCALE));
}

function isAmong(found: readonly Nearest[], likeness: number, count: number): boolean {
  return found.length < count || likeness > (found.at(-1)?.likeness ?? 0);
}

function insert(found: Nearest[], entry: Nearest, count: number): void {
  const place = found.findIndex(({ likeness }) => entry.likeness > likeness);
  found.splice(place === -1 ? found.length : place, 0, entry);
  if (found.length > count) found.pop();
}
