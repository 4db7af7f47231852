/** Words a second that nobody reaches; a recogniser that runs away does. */
const fastest = 7;
/** So often in a row a phrase is said by a machine only. */
const repeats = 4;
const longestPhrase = 4;

/**
 * The text without what a recogniser makes up: a phrase said again and again is kept once, and a text too long for
 * its sound, or without any letter or digit, is dropped.
 */
export function plausibleText(text: string, seconds: number): string {
  const words = withoutLoops(text.split(/\s+/).filter(Boolean));
  if (words.length > Math.max(3, seconds * fastest)) return '';
  const clean = words.join(' ').replace(/^["'\s.,;:!?-]+/, '');
  return /[\p{L}\p{N}]/u.test(clean) ? clean : '';
}

function withoutLoops(words: readonly string[]): readonly string[] {
  for (let length = 1; length <= longestPhrase; length += 1) {
    for (let at = 0; at + length * repeats <= words.length; at += 1) {
      const times = timesInRow(words, at, length);
      if (times < repeats || isDictated(words, at, length)) continue;
      return withoutLoops([...words.slice(0, at + length), ...words.slice(at + length * times)]);
    }
  }
  return words;
}

function timesInRow(words: readonly string[], at: number, length: number): number {
  let times = 1;
  while (bare(words, at, length) === bare(words, at + times * length, length)) times += 1;
  return times;
}

/** Numbers repeat when they are dictated. */
function isDictated(words: readonly string[], at: number, length: number): boolean {
  return /\d|\b(zero|oh|one|two|three|four|five|six|seven|eight|nine)\b/.test(bare(words, at, length));
}

function bare(words: readonly string[], at: number, length: number): string {
  const phrase = words.slice(at, at + length).join(' ');
  return phrase.toLowerCase().replace(/[^\p{L}\p{N}' ]/gu, '');
}
