const size = 32_000;
const blank = '\u2581';

/** Turns the model's numbers into text. */
export interface Vocabulary {
  textOf(tokens: readonly number[]): string;
}

/**
 * Reads the vocabulary out of the script that comes with the weights. The script is only data here: the vocabulary is
 * the one long base64 text in it that holds as many lines as there are tokens.
 */
export function readVocabulary(script: string): Vocabulary {
  const candidates = script.match(/[A-Za-z0-9+/=]{100000,}/g) ?? [];
  const lists = candidates.map((text) => Buffer.from(text, 'base64').toString('utf8').split('\n'));
  const words = lists.find(({ length }) => length === size);
  if (words === undefined) throw new Error('the vocabulary of the speech model is not where it was');
  return { textOf: (tokens) => textOf(tokens, words) };
}

function textOf(tokens: readonly number[], words: readonly string[]): string {
  const bytes = tokens.flatMap((token) => bytesOf(words[token]));
  return Buffer.from(bytes).toString('utf8').replaceAll(blank, ' ').trim();
}

/** Some tokens stand for a single byte; the first three and those beyond the list for no text at all. */
function bytesOf(word: string | undefined): number[] {
  if (word === undefined || /^<(unk|s|\/s)>$/.test(word)) return [];
  const byte = /^<0x([0-9A-F]{2})>$/.exec(word)?.[1];
  return byte === undefined ? [...Buffer.from(word, 'utf8')] : [Number.parseInt(byte, 16)];
}
