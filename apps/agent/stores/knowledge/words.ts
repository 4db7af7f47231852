/** Scripts that are written without blanks: each character counts as a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const MAX_WORDS = 32;
const COMMON = new Set(
  'a an and are as at be been but by can did do does for from had has have how i if in is it its me my no not of on or our so that the their them then there these they this to was we were what when where which who why will with you your'.split(
    ' ',
  ),
);

/** The text as it goes into the index. */
export function indexText(text: string): string {
  return text.normalize('NFKC').replace(UNSPACED, ' $& ');
}

/** The significant words of a query; all of them when none is significant. Quotes and operators do not count. */
export function queryWords(query: string): string[] {
  const words = indexText(query).toLowerCase().match(WORD) ?? [];
  const telling = words.filter((word) => !COMMON.has(word));
  return [...new Set(telling.length > 0 ? telling : words)].slice(0, MAX_WORDS);
}

/** An FTS5 query; every word is quoted, so that none is taken for an operator. */
export function matchAll(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' AND ');
}

export function matchAny(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' OR ');
}
