import type { Response } from 'undici';
import { fetchErrors } from './errors.ts';

export interface ReadLimits {
  maxBytes: number;
  overflow: 'refuse' | 'cut';
}

/** Reads the decoded body and stops as soon as it is too long; a small compressed body may unpack to a huge one. */
export async function readLimited(
  response: Response,
  { maxBytes, overflow }: ReadLimits,
): Promise<{ body: Uint8Array; truncated: boolean }> {
  if (response.body === null) return { body: new Uint8Array(), truncated: false };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    const room = maxBytes - size;
    chunks.push(chunk.byteLength > room ? chunk.subarray(0, room) : chunk);
    size += chunk.byteLength;
    if (size > maxBytes) break;
  }
  if (size > maxBytes && overflow === 'refuse') throw fetchErrors.response_too_large({ bytes: maxBytes });
  return { body: Buffer.concat(chunks), truncated: size > maxBytes };
}
