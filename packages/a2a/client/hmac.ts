import { createHmac, timingSafeEqual } from 'node:crypto';

const longestSkewSeconds = 300;

export interface SignatureHeaders {
  'x-timestamp': string;
  'x-signature-256': string;
}

/** The headers that prove who sent a body and when. */
export function signBody(secret: string, body: string, now: number): SignatureHeaders {
  const timestamp = String(Math.floor(now / 1000));
  return { 'x-timestamp': timestamp, 'x-signature-256': signatureOf(secret, timestamp, body) };
}

/** For receivers: whether the signature fits the body and is not too old or from the future. */
export function isSigned(
  secret: string,
  body: string,
  headers: { timestamp: string | undefined; signature: string | undefined },
  now: number,
): boolean {
  const { timestamp = '', signature = '' } = headers;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > longestSkewSeconds) return false;
  return sameText(signature, signatureOf(secret, timestamp, body));
}

function signatureOf(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

/** Takes the same time wherever the texts differ. */
function sameText(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
