import { join } from 'node:path';
import { type Database, openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';
import { checkKey, checkValue } from '../memory-options.ts';
import type { Memory, MemoryOptions } from '../port.ts';

const sweepEveryMs = 60_000;

/** Memories in one SQLite file, which is made when the first is asked for. */
export class EmbeddedMemories {
  readonly #directory: string;
  #database: Database | undefined;
  #sweptAt = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  open(name: string, { ttlMs }: MemoryOptions): Memory {
    const table = this.#table();
    const placeOf = (key: string) => {
      checkKey(key);
      return `${name}/${key}`;
    };
    return {
      recall: async (key) => table.get(placeOf(key)),
      keep: async (key, value) => {
        const place = placeOf(key);
        checkValue(value);
        this.#sweep(table);
        return table.setIfAbsent(place, value, ttlMs) ? value : (table.get(place) ?? value);
      },
      replace: async (key, value) => {
        const place = placeOf(key);
        checkValue(value);
        this.#sweep(table);
        table.set(place, value, ttlMs);
      },
    };
  }

  close(): void {
    this.#database?.close();
  }

  #table(): TtlTable<string> {
    const path = join(this.#directory, 'memory.db');
    this.#database ??= openDatabase(path, { migrations: [ttlTableMigration('memory')] });
    return new TtlTable<string>(this.#database, 'memory');
  }

  #sweep(table: TtlTable<string>): void {
    if (Date.now() - this.#sweptAt < sweepEveryMs) return;
    this.#sweptAt = Date.now();
    table.sweep();
  }
}
