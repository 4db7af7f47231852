import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whether the hexadecimal signature is the HMAC-SHA256 of these very bytes; takes the same time either way. */
export function isSignedBy(secret: string, body: Uint8Array, signature: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(signature ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
