/** How fast voices read, in characters a second; rather too few, as a word said twice is better than one left out. */
const charactersPerSecond = 13;
/** A clause that began not farther back than this is begun again. */
const farthestBack = 40;

/** What is still to be said of a text of which so many seconds were heard; it begins with a clause, else with a word. */
export function restOfText(text: string, spokenSeconds: number): string {
  if (spokenSeconds === 0) return text;
  const reached = Math.floor(spokenSeconds * charactersPerSecond);
  if (reached >= text.length) return '';
  const before = text.slice(0, reached);
  const clause = Math.max(...[...before.matchAll(/[,.;:!?]\s+/g)].map(endOf), 0);
  const word = Math.max(...[...before.matchAll(/\s+/g)].map(endOf), 0);
  return text.slice(reached - clause <= farthestBack ? clause : word);
}

function endOf(match: RegExpExecArray): number {
  return match.index + match[0].length;
}
