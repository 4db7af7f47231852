import { randomBytes } from 'node:crypto';

const counterLimit = 0x1000;
/** The random bits of this process (or thread); with time and counter they make an id no other has. */
const ending = variantAndNode();
let time = 0;
let counter = 0;
let beginning = '';

/** A UUID of version 7: later ones sort after earlier ones, also within one millisecond of this process. */
export function createId(): string {
  tick();
  return `${beginning}${counter.toString(16).padStart(3, '0')}${ending}`;
}

/** Counts within one millisecond; a full counter, or a clock set back, borrows from the next millisecond. */
function tick(): void {
  counter += 1;
  const now = Date.now();
  if (now > time) start(now);
  else if (counter >= counterLimit) start(time + 1);
}

function start(millisecond: number): void {
  time = millisecond;
  counter = 0;
  const digits = millisecond.toString(16).padStart(12, '0');
  beginning = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
}

function variantAndNode(): string {
  const bytes = randomBytes(8);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x80;
  const digits = bytes.toString('hex');
  return `-${digits.slice(0, 4)}-${digits.slice(4)}`;
}
