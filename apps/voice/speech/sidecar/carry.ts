/** Cuts a stream of bytes at whole 16-bit samples: an odd byte waits for its other half. */
export async function* alignSamples(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let carry: number | undefined;
  for await (const chunk of chunks) {
    const bytes: Uint8Array = carry === undefined ? chunk : Uint8Array.from([carry, ...chunk]);
    const whole = bytes.length - (bytes.length % 2);
    carry = whole === bytes.length ? undefined : bytes[whole];
    if (whole > 0) yield bytes.subarray(0, whole);
  }
}
