import { createHash, randomUUID } from 'node:crypto';
import { type Database, openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';

const sweepEveryMs = 60_000;

/**
 * The id of a delivery. The tracker sends one again under its old id with a new time, so that the id decides; but no
 * signature covers the id, so that the same bytes under another one are still the delivery they were, also after a
 * restart.
 */
export class DeliveryIds {
  readonly #keepMs: number;
  readonly #database: Database;
  /** By the hash of the body. */
  readonly #kept: TtlTable<string>;
  #sweptAt = 0;

  /** Bodies older than this are refused by their time, and need not be remembered. */
  constructor(path: string, keepMs: number) {
    this.#keepMs = keepMs;
    this.#database = openDatabase(path, { migrations: [ttlTableMigration('deliveries')] });
    this.#kept = new TtlTable<string>(this.#database, 'deliveries');
  }

  of(body: Uint8Array, named: string | undefined): string {
    this.#sweep();
    const hash = createHash('sha256').update(body).digest('base64');
    const id = this.#kept.get(hash) ?? named ?? randomUUID();
    this.#kept.set(hash, id, this.#keepMs);
    return id;
  }

  close(): void {
    this.#database.close();
  }

  #sweep(): void {
    if (Date.now() - this.#sweptAt < sweepEveryMs) return;
    this.#sweptAt = Date.now();
    this.#kept.sweep();
  }
}
