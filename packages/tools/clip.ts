const MARKER = '…[truncated]';

/** At most that many characters of the text; the marker says that there was more. */
export function clip(text: string, most: number, cutBefore = false): string {
  if (text.length <= most) return cutBefore ? `${text}${MARKER}` : text;
  return `${wholeCharacters(text.slice(0, most))}${MARKER}`;
}

/** A cut between the halves of a surrogate pair leaves a broken character behind. */
function wholeCharacters(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}
