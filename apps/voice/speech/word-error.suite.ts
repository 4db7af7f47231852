/** The share of words that were heard wrongly: changed, left out or made up. */
export function wordError(said: readonly string[], heard: readonly string[]): number {
  const pairs = said.map((text, index) => [wordsOf(text), wordsOf(heard[index] ?? '')] as const);
  const errors = pairs.reduce((sum, [before, after]) => sum + distance(before, after), 0);
  return errors / pairs.reduce((sum, [before]) => sum + before.length, 0);
}

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/** Digits are read one by one: a recogniser writes a dictated number in either way, and "at nine" as "at 9:00". */
function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/\bdr\./g, 'doctor')
    .replace(/\b(\d{1,2}):00\b/g, '$1')
    .replace(/\d/g, (digit) => ` ${DIGITS[Number(digit)]} `)
    .replace(/[^a-z' ]/g, ' ')
    .split(' ')
    .filter(Boolean);
}

function distance(before: readonly string[], after: readonly string[]): number {
  let row = after.map((_, index) => index + 1);
  for (const [index, word] of before.entries()) {
    let corner = index;
    let left = index + 1;
    row = row.map((above, column) => {
      const change = corner + (after[column] === word ? 0 : 1);
      corner = above;
      left = Math.min(change, above + 1, left + 1);
      return left;
    });
  }
  return row.at(-1) ?? before.length;
}
