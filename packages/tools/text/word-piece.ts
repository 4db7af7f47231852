/** The uncased WordPiece tokenizer of BERT, as far as the claim model and the embeddings need it. */
export interface WordPiece {
  /** The ids of a text, without the marks of its beginning and end. */
  encode(text: string): number[];
}

const UNKNOWN = '[UNK]';
const LONGEST_WORD = 100;

/** Control characters vanish, white space becomes one space. */
const DROPPED = /\uFFFD|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu;
/** Ideographs stand alone. */
const IDEOGRAPH =
  /[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu;
const PIECE = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu;

/** The place of a piece in the vocabulary is its id. */
export function createWordPiece(vocabulary: readonly string[]): WordPiece {
  const ids = new Map(vocabulary.map((piece, id) => [piece, id]));
  const unknown = ids.get(UNKNOWN);
  if (unknown === undefined) throw new Error('The vocabulary has no [UNK].');
  return { encode: (text) => splitWords(text).flatMap((word) => piecesOf(word, ids) ?? [unknown]) };
}

function splitWords(text: string): string[] {
  const plain = text
    .replace(DROPPED, '')
    .replace(IDEOGRAPH, ' $& ')
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
  return plain.match(PIECE) ?? [];
}

/** The longest piece first; undefined where the rest of a word has none. */
function piecesOf(word: string, ids: ReadonlyMap<string, number>): number[] | undefined {
  const letters = [...word];
  if (letters.length > LONGEST_WORD) return undefined;
  const pieces: number[] = [];
  for (let start = 0; start < letters.length; ) {
    let end = letters.length;
    let id: number | undefined;
    for (; end > start && id === undefined; end -= 1)
      id = ids.get(`${start > 0 ? '##' : ''}${letters.slice(start, end).join('')}`);
    if (id === undefined) return undefined;
    pieces.push(id);
    start = end + 1;
  }
  return pieces;
}
