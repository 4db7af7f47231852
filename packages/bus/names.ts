import { BusError } from './errors.ts';

const allowed = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws unless the text can name a durable subscription, a group, a lease or a memory in every engine. */
export function checkName(kind: 'durable' | 'group' | 'lease' | 'memory', name: string): void {
  if (allowed.test(name)) return;
  const words = `The ${kind} name ${JSON.stringify(name)} is refused: use 1 to 64 letters, digits, "-" or "_".`;
  throw new BusError('name_refused', words);
}
