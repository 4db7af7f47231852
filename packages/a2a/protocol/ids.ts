import { randomUUID } from 'node:crypto';

/** A version 7 UUID: those made one after the other stand side by side in an index, which keeps writes small. */
export function newId(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
