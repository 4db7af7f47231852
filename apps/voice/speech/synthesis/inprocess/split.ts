/** The first piece is short, so that the caller hears something soon. */
const shortFirst = 60;
/** Far below what the model can take (510 symbols), and short enough for others to get their turn. */
const longest = 160;

/** Cuts a text into pieces that are spoken one after the other: sentences, and clauses where they are too long. */
export function splitForSpeech(text: string): string[] {
  const sentences = text
    .split(/(?<=[.!?…]["')\]]?)\s+(?=\S)/)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
  const [first, ...rest] = sentences;
  if (first === undefined) return [];
  return [...shortened(first, shortFirst), ...rest].flatMap((sentence) => fitted(sentence));
}

/** The first clause by itself when the whole is long. */
function shortened(sentence: string, most: number): string[] {
  if (sentence.length <= most) return [sentence];
  const clause = /^.{12,60}?[,;:–—](?=\s)/.exec(sentence)?.[0];
  return clause === undefined ? [sentence] : [clause, sentence.slice(clause.length).trim()];
}

function fitted(text: string): string[] {
  if (text.length <= longest) return [text];
  const window = text.slice(0, longest);
  const clause = Math.max(...[',', ';', ':', '—', '–'].map((mark) => window.lastIndexOf(`${mark} `)));
  const blank = window.lastIndexOf(' ');
  const at = clause > longest / 3 ? clause + 1 : blank > 0 ? blank : longest;
  return [text.slice(0, at), ...fitted(text.slice(at).trim())];
}
