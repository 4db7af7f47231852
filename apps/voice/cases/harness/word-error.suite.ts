import { wordsIn } from '../../call/turns/words.ts';

/** Words that are wrong, missing or too many, as a share of those expected. */
export function wordError(expected: string, actual: string): number {
  const [wanted, found] = [wordsIn(expected), wordsIn(actual)];
  let row = Array.from({ length: found.length + 1 }, (_, index) => index);
  for (const [index, word] of wanted.entries()) {
    const next = [index + 1];
    for (const [place, other] of found.entries()) {
      const replaced = (row[place] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) / Math.max(1, wanted.length);
}
