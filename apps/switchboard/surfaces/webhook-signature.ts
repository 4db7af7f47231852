import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';

/** Whether the hexadecimal signature is the HMAC-SHA256 of these very bytes; takes the same time either way. */
export function isSignedBy(secret: string, body: Uint8Array, signature: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(signature ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * By what a delivery is known when it comes again. Signatures do not cover the id in the header, so that whoever caught
 * a signed body could send it under new ones: where there is a secret, the body itself is the id.
 */
export function deliveryIdOf(
  secret: string | undefined,
  body: Uint8Array,
  named: string | undefined,
): string {
  return secret === undefined ? (named ?? randomUUID()) : createHash('sha256').update(body).digest('hex');
}
