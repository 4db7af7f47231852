import { randomBytes } from 'node:crypto';
import { BusError } from './errors.ts';
import type { HistoryQuery } from './port.ts';

const defaultLimit = 100;

const largestLimit = 1000;

const allowed = /^[A-Za-z0-9_-]{1,64}$/;

const counterLimit = 0x1000;
/** The random bits of this process (or thread); with time and counter they make an id no other has. Drawn with the first id. */
let ending = '';
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
  ending ||= variantAndNode();
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

/** Throws unless the text can name a durable subscription, a group, a lease or a memory in every engine. */
export function checkName(kind: 'durable' | 'group' | 'lease' | 'memory', name: string): void {
  if (allowed.test(name)) return;
  const words = `The ${kind} name ${JSON.stringify(name)} is refused: use 1 to 64 letters, digits, "-" or "_".`;
  throw new BusError('name_refused', words);
}

export function historyLimit({ limit = defaultLimit }: HistoryQuery): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return Math.min(limit, largestLimit);
  throw new BusError('options_refused', `limit is ${limit}: give a whole number from 1 to ${largestLimit}.`);
}
