/** What Discord takes. */
const LONGEST_MESSAGE = 2000;

/** Cuts a message for a chat platform: at the ends of lines, and inside a line only when it alone is too long. */
export function splitMessage(content: string, most = LONGEST_MESSAGE): string[] {
  const pieces: string[] = [];
  let current = '';
  for (const line of content.split('\n').flatMap((each) => cutLine(each, most))) {
    const joined = current === '' ? line : `${current}\n${line}`;
    if (joined.length <= most) current = joined;
    else {
      pieces.push(current);
      current = line;
    }
  }
  return [...pieces, current].filter((piece) => piece.trim() !== '');
}

/** Never through the middle of a surrogate pair. */
function cutLine(line: string, most: number): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > most) {
    const end = /[\uD800-\uDBFF]/.test(rest.charAt(most - 1)) ? most - 1 : most;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...pieces, rest];
}
