/**
 * The value as plain JSON data: bytes become base64 and addresses become text, as the AI SDK accepts them,
 * and what is undefined is left out. JSON.parse(JSON.stringify(x)) gives exactly the same.
 */
export function toPlainJson<Value>(value: Value): Value {
  return convert(value) as Value;
}

function convert(value: unknown): unknown {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map((item) => convert(item) ?? null);
  if (typeof value === 'object' && value !== null) return convertFields(value);
  return isPlain(value) ? value : undefined;
}

function convertFields(record: object): Record<string, unknown> {
  const fields = Object.entries(record).map(([name, field]) => [name, convert(field)] as const);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value);
}
