/** A text in one line, and no longer than so many characters. */
export function oneLine(text: string, longest = Number.POSITIVE_INFINITY): string {
  return text
    .slice(0, 4 * longest)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, longest)
    .trimEnd()
    .toWellFormed();
}
