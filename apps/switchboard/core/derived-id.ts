import { createHash } from 'node:crypto';

/** The id of what follows from a message: the same each time, so that a repeated delivery is not told twice. */
export function derivedId(messageId: string, purpose: string): string {
  return createHash('sha256').update(`${purpose} ${messageId}`).digest('hex').slice(0, 32);
}
