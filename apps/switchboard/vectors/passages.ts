const longest = 1500;

/** Pieces of a text, cut between paragraphs where that is possible, else between words. */
export function passagesOf(text: string): string[] {
  const pieces: string[] = [];
  let current = '';
  for (const paragraph of text.split(/\n\s*\n/).flatMap(short)) {
    if (current !== '' && current.length + paragraph.length + 2 > longest) {
      pieces.push(current);
      current = '';
    }
    current = current === '' ? paragraph : `${current}\n\n${paragraph}`;
  }
  return [...pieces, current].map((piece) => piece.trim()).filter((piece) => piece !== '');
}

/** A paragraph that is too long by itself, in parts. */
function short(paragraph: string): string[] {
  const parts: string[] = [];
  let rest = paragraph;
  while (rest.length > longest) {
    const space = rest.lastIndexOf(' ', longest);
    const end = space > longest / 2 ? space : longest;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...parts, rest];
}
