/** Splits bytes into lines ended by CR, LF or CRLF, however the chunks fall; a last line without an end is left out. */
export async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  // Only what is new is searched: going over a long line again with each chunk would take minutes.
  let begun = '';
  let afterReturn = false;
  for await (const bytes of source) {
    const decoded = decoder.decode(bytes, { stream: true });
    if (decoded === '') continue;
    const [first = '', ...others] = (afterReturn ? decoded.replace(/^\n/, '') : decoded).split(/\r\n|\r|\n/);
    afterReturn = decoded.endsWith('\r');
    begun += first;
    for (const next of others) {
      yield begun;
      begun = next;
    }
    if (begun.length > limit)
      throw new Error(`The event stream sent a line of more than ${limit} characters.`);
  }
}
