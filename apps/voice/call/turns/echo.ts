import { isStopWord, wordsIn } from './words.ts';

/** What was heard, without the words that come from our own loudspeaker; empty when nothing else is left. */
export function removeSelfSpeech(heard: string, spoken: string): string {
  const ours = wordsIn(spoken);
  if (ours.length === 0) return heard;
  const pieces = heard.split(/\s+/).filter((piece) => piece !== '');
  const words = pieces.map((piece) => wordsIn(piece).join(''));
  const echoed = words.map(() => false);
  for (let start = 0; start < words.length; ) {
    const run = longestRun(words, start, ours);
    if (run >= 2) echoed.fill(true, start, start + run);
    start += Math.max(run, 1);
  }
  const single = words.length === 1 && ours.includes(words[0] ?? '') && !isStopWord(heard);
  if (single || isMostly(echoed, words, ours)) return '';
  return pieces.filter((_, index) => !echoed[index]).join(' ');
}

/** How many words from here on stand in the same order in what we said; one misheard word may stand between. */
function longestRun(words: string[], start: number, ours: string[]): number {
  let longest = 0;
  for (
    let from = ours.indexOf(words[start] ?? '');
    from >= 0;
    from = ours.indexOf(words[start] ?? '', from + 1)
  ) {
    let [length, matched] = [1, 1];
    while (start + length < words.length && from + length < ours.length) {
      const here = words[start + length] === ours[from + length];
      const next =
        words[start + length + 1] !== undefined && words[start + length + 1] === ours[from + length + 1];
      if (!here && !next) break;
      if (here) matched += 1;
      length += 1;
    }
    if (matched >= 2 || length === 1) longest = Math.max(longest, length);
  }
  return longest;
}

/** An echo that was misheard in places is still an echo. */
function isMostly(echoed: boolean[], words: string[], ours: string[]): boolean {
  const marked = echoed.filter(Boolean).length;
  if (marked === 0) return false;
  const known = words.filter((word, index) => echoed[index] || ours.includes(word)).length;
  return marked >= 3 && known / words.length >= 0.8;
}
