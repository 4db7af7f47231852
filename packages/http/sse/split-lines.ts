/** Splits bytes into lines ended by CR, LF or CRLF, however the chunks fall; a last line without an end is left out. */
export async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of source) {
    rest += decoder.decode(bytes, { stream: true });
    const [lines, remainder] = cutLines(rest);
    rest = remainder;
    if (rest.length > limit)
      throw new Error(`The event stream sent a line of more than ${limit} characters.`);
    yield* lines;
  }
  if (rest.endsWith('\r')) yield rest.slice(0, -1);
}

/** A CR at the very end stays behind: the next chunk may begin with its LF. */
function cutLines(text: string): [lines: string[], rest: string] {
  const held = text.endsWith('\r') ? '\r' : '';
  const lines = text.slice(0, text.length - held.length).split(/\r\n|\r|\n/);
  const last = lines.pop() ?? '';
  return [lines, last + held];
}
