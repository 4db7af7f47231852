/** Where the first of the marks begins; without one, how much of the text can be none of them. */
export function findFirst(
  text: string,
  marks: readonly string[],
  isEnd: boolean,
): { at: number; length: number } {
  const forms = marks.map((mark) => mark.replaceAll(/[|[\]]/g, '\\$&'));
  const found = new RegExp(forms.join('|'), 'i').exec(text);
  if (found !== null) return { at: found.index, length: found[0].length };
  return { at: isEnd ? text.length : text.length - openTail(text, marks), length: 0 };
}

/** Signs at the end that may be the beginning of a mark. */
export function openTail(text: string, marks: readonly string[]): number {
  const longest = Math.min(text.length, Math.max(...marks.map(({ length }) => length)) - 1);
  const lower = text.slice(text.length - longest).toLowerCase();
  for (let length = longest; length > 0; length -= 1) {
    const tail = lower.slice(-length);
    if (marks.some((mark) => mark.startsWith(tail))) return length;
  }
  return 0;
}
