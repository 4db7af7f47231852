import { randomUUID } from 'node:crypto';

/**
 * Task ids are UUIDs of version 7: the time in milliseconds, then a counter where the format has its first random bits.
 * Time and counter together are the key of the task's row, so no index of ids has to be kept.
 */
const pattern = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-[0-9a-f]{4}-[0-9a-f]{12}$/;
const counterBits = 12n;
const keyDigits = 15;

/** Undefined for what cannot be the id of a task. */
export function keyOf(id: string): bigint | undefined {
  const [, high, low, counter] = pattern.exec(id) ?? [];
  return high === undefined ? undefined : BigInt(`0x${high}${low}${counter}`);
}

/** Gives each task of one store a key of its own, above all that were given before. */
export class TaskIds {
  #last: bigint;

  constructor(last: bigint) {
    this.#last = last;
  }

  next(now: number): string {
    const earliest = BigInt(now) << counterBits;
    this.#last = this.#last < earliest ? earliest : this.#last + 1n;
    const key = this.#last.toString(16).padStart(keyDigits, '0');
    return `${key.slice(0, 8)}-${key.slice(8, 12)}-7${key.slice(12)}-${randomUUID().slice(19)}`;
  }
}
