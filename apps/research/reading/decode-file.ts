const SNIFFED_BYTES = 1024;

/** The text of a file: by its byte order mark, the meta element of a page, as UTF-8, or as what Windows wrote before that. */
export function decodeFile(bytes: Uint8Array, type: string): string {
  const label = markedCharset(bytes) ?? (type === 'text/html' ? declaredCharset(bytes) : undefined);
  if (label !== undefined) return new TextDecoder(label).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

function markedCharset([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function declaredCharset(bytes: Uint8Array): string | undefined {
  const opening = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');
  const label = /<meta[^>]*charset\s*=\s*["']?([\w.:-]+)/i.exec(opening)?.[1];
  return label !== undefined && isKnown(label) ? label : undefined;
}

function isKnown(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
