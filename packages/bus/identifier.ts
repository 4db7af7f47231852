import { randomFillSync } from 'node:crypto';

const pool = new Uint8Array(4096);
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const counterLimit = 0x1000;
let offset = pool.length;
let lastTime = 0;
let counter = 0;

/** A UUID of version 7: later ones sort after earlier ones, also within one millisecond of this process. */
export function createId(): string {
  tick();
  const random = nextRandom();
  const time = lastTime.toString(16).padStart(12, '0');
  const count = counter.toString(16).padStart(3, '0');
  const variant = hex[(byteAt(random) & 0x3f) | 0x80];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${variant}${hexFrom(random + 1, 1)}-${hexFrom(random + 2, 6)}`;
}

/** Counts within one millisecond; a full counter, or a clock set back, borrows from the next millisecond. */
function tick(): void {
  const now = Date.now();
  if (now > lastTime) {
    lastTime = now;
    counter = 0;
    return;
  }
  counter += 1;
  if (counter < counterLimit) return;
  lastTime += 1;
  counter = 0;
}

function nextRandom(): number {
  if (offset + 8 > pool.length) {
    randomFillSync(pool);
    offset = 0;
  }
  offset += 8;
  return offset - 8;
}

function byteAt(index: number): number {
  return pool[index] ?? 0;
}

function hexFrom(start: number, length: number): string {
  let text = '';
  for (let index = start; index < start + length; index += 1) text += hex[byteAt(index)];
  return text;
}
