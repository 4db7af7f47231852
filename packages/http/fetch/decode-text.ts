const SNIFFED_BYTES = 1024;

/** Decodes by the charset of the header, else of the page's own meta element, else as UTF-8. */
export function decodeText(body: Uint8Array, contentType: string): string {
  const label = charsetIn(contentType) ?? charsetIn(openingOf(body)) ?? 'utf-8';
  return decoderFor(label).decode(body);
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w.:-]+)/i.exec(text)?.[1];
}

function openingOf(body: Uint8Array): string {
  const opening = Buffer.from(body.subarray(0, SNIFFED_BYTES)).toString('latin1');
  return opening.match(/<meta[^>]*>/gi)?.find((tag) => /charset/i.test(tag)) ?? '';
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder();
    throw error;
  }
}
