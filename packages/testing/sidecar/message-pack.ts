/** As much of MessagePack as the fake's answers need: booleans, and texts, lists and maps of up to 65535. */
export function encodeMessagePack(value: unknown): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 0xc3 : 0xc2]);
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'utf8');
    return Buffer.concat([head(0xda, bytes.length), bytes]);
  }
  if (Array.isArray(value))
    return Buffer.concat([head(0xdc, value.length), ...value.map((item) => encodeMessagePack(item))]);
  const entries = Object.entries(value as object);
  return Buffer.concat([
    head(0xde, entries.length),
    ...entries.flat().map((item) => encodeMessagePack(item)),
  ]);
}

function head(type: number, length: number): Buffer {
  return Buffer.from([type, length >> 8, length & 0xff]);
}
