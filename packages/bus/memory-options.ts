import { BusError } from './errors.ts';
import { checkTimeToLive } from './lease-options.ts';
import { checkName } from './names.ts';
import type { MemoryOptions } from './port.ts';

const longestValue = 1024;

export function checkMemory(name: string, { ttlMs }: MemoryOptions): void {
  checkName('memory', name);
  checkTimeToLive(ttlMs);
}

/** Keys are subjects of NATS in the end. */
export function checkKey(key: string): void {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(key)) return;
  const words = `The key ${JSON.stringify(key)} is refused: give up to 128 letters, digits, - and _; a hash will do.`;
  throw new BusError('name_refused', words);
}

export function checkValue(value: string): void {
  if (value.length <= longestValue) return;
  throw new BusError(
    'message_too_large',
    `A value of ${value.length} characters is refused: keep at most ${longestValue}.`,
  );
}
