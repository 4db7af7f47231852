const BYTES = 16;

/** An id that nobody else has; pages on plain HTTP have no randomUUID. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
