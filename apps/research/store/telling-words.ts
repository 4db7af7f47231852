/** The words that carry meaning; letters and digits alone, so that nothing is read as query syntax. */
export function tellingWords(query: string, most: number): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => (word.length > 2 || /\p{N}/u.test(word)) && !COMMON.has(word));
  return [...new Set(telling.length > 0 ? telling : words)].slice(0, most);
}

const COMMON = new Set(
  'the and for are was were with from that this have has had what which when where who why how does did its into about than then them they not but can could should would will may over under more most such also'.split(
    ' ',
  ),
);
