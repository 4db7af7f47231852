import { createHash, randomUUID } from 'node:crypto';

interface Kept {
  id: string;
  at: number;
}

/**
 * The id of a delivery. The tracker sends one again under its old id with a new time, so that the id decides; but no
 * signature covers the id, so that the same bytes under another one are still the delivery they were.
 */
export class DeliveryIds {
  readonly #keepMs: number;
  /** By the hash of the body, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  /** Bodies older than this are refused by their time, and need not be remembered. */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  of(body: Uint8Array, named: string | undefined, now: number): string {
    this.#dropOld(now);
    const hash = createHash('sha256').update(body).digest('base64');
    const kept = this.#kept.get(hash) ?? { id: named ?? randomUUID(), at: now };
    this.#kept.set(hash, kept);
    return kept.id;
  }

  #dropOld(now: number): void {
    for (const [hash, { at }] of this.#kept) {
      if (now - at <= this.#keepMs) return;
      this.#kept.delete(hash);
    }
  }
}
