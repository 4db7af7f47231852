import { createHash, randomUUID } from 'node:crypto';

/**
 * Task ids are UUIDs of version 7: the time in milliseconds, then a counter where the format has its first random bits.
 * Time and counter together are the key of the task's row, so no index of ids has to be kept.
 */
const PATTERN = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Tasks of one millisecond; more count on in the next one. */
const COUNTERS = 4096;

const KEY_DIGITS = 15;

/** Gives each task of one store a key of its own, above all that were given before. */
export class TaskIds {
  #time: number;
  #counter: number;

  constructor(last: bigint) {
    this.#time = Number(last / BigInt(COUNTERS));
    this.#counter = Number(last % BigInt(COUNTERS));
  }

  next(now: number): string {
    if (this.#time < now) {
      this.#time = now;
      this.#counter = 0;
    } else this.#counter += 1;
    if (this.#counter === COUNTERS) {
      this.#time += 1;
      this.#counter = 0;
    }
    const time = this.#time.toString(16).padStart(12, '0');
    const counter = this.#counter.toString(16).padStart(3, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${randomUUID().slice(19)}`;
  }
}

/** Undefined for what cannot be the id of a task. */
export function keyOf(id: string): bigint | undefined {
  const [, high, low, counter] = PATTERN.exec(id) ?? [];
  return high === undefined ? undefined : BigInt(`0x${high}${low}${counter}`);
}

/** The key of an own task. */
export function rowKey(taskId: string): bigint {
  const key = keyOf(taskId);
  if (key === undefined) throw new Error(`No task can have the id ${taskId}: take one from newId().`);
  return key;
}

/** Ids of several services may have the same time and counter: the rows of their tasks are below those of own ones. */
export function copyKey(taskId: string): bigint {
  return -(BigInt(`0x${createHash('sha256').update(taskId).digest('hex').slice(0, KEY_DIGITS)}`) + 1n);
}
