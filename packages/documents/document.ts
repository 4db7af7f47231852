/** A page or file as it came, and what it claims to be. */
export interface RawDocument {
  bytes: Uint8Array;
  /** In lower case, without parameters. */
  type: string;
  /** Of the Content-Type header; what a byte order mark says counts for more. */
  charset?: string | undefined;
  /** Title or file name, for titles and types that are missing. */
  name: string;
  /** Of a page from the web; its ending tells the type where the server does not. */
  address?: string | undefined;
  /** The bytes were cut at a limit. */
  isCut?: boolean;
  /** Text in pictures may be recognised, which takes seconds a page. */
  mayRecognise?: boolean;
  /** Of a page: `main` alone, else its articles, else all but menus and footers (`nav`, `footer`). */
  isContentOnly?: boolean;
}

export type BlockKind =
  | 'heading'
  | 'paragraph'
  | 'item'
  | 'definition'
  | 'table'
  | 'code'
  | 'caption'
  | 'image'
  | 'note';

/** Where a block stands on its page. All but `main` is the rest: side boxes, notes, then menus, banners and buttons. */
export type Region = 'main' | 'side' | 'note' | 'chrome';

/** A stretch of the text. */
interface Block {
  kind: BlockKind;
  region: Region;
  start: number;
  end: number;
}

export interface ExtractedDocument {
  title: string;
  /** All that can be read there, as Markdown without links: the main part, then the rest. */
  text: string;
  /** Characters of the main part, with which the text begins. */
  mainLength: number;
  blocks: Block[];
  published?: string;
  /** As the page declares it, such as `de` or `pt-BR`. */
  language?: string;
  /** Characters that no reader sees, which were dropped. */
  hidden: number;
  /** Nothing that a reader sees is missing, so that what does not stand in the text does not stand in the document. */
  isWhole: boolean;
  /** Pages of it are pictures, whose text is still to be recognised. */
  hasPictures?: boolean;
}

/** Bytes that hold no text that can be read; the words complete the sentence "it ...". */
export class ExtractionError extends Error {
  readonly code = 'extraction_failed';
}

/** Says of a page that no reader sees any text there. */
export const PAGE_WITHOUT_TEXT = 'is a page without text';

/** Says of a document that it holds pictures of text and must be given again with leave to recognise it. */
export const NEEDS_RECOGNITION = 'holds pictures of text';

/** A block before its place in the text is known. */
export interface Piece {
  kind: BlockKind;
  region: Region;
  text: string;
  /** Of a heading, 1 to 6. */
  level?: number;
  /** Characters inside links. */
  linked?: number;
}

const ORDER: readonly Region[] = ['main', 'side', 'note', 'chrome'];
const GAP = '\n\n';

/** Longer texts are cut: a small file may repeat one string a hundred thousand times. */
export const MOST_CHARACTERS = 20_000_000;

/** Puts pieces together, those of the main part first; what is beyond the limit is left out, and then it is not whole. */
export function assemble(
  pieces: readonly Piece[],
): Pick<ExtractedDocument, 'text' | 'mainLength' | 'blocks' | 'isWhole'> {
  const blocks: Block[] = [];
  const parts: string[] = [];
  let length = 0;
  let mainLength = 0;
  let isWhole = true;
  let last: Piece | undefined;
  for (const region of ORDER) {
    for (const piece of pieces) {
      if (piece.region !== region || piece.text === '') continue;
      const isNext = last?.region === region && isLine(last.kind) && last.kind === piece.kind;
      const gap = last === undefined ? '' : isNext ? '\n' : GAP;
      const start = length + gap.length;
      const text = piece.text.slice(0, Math.max(0, MOST_CHARACTERS - start));
      if (text.length < piece.text.length) isWhole = false;
      if (text === '') continue;
      parts.push(gap, text);
      length = start + text.length;
      blocks.push({ kind: piece.kind, region, start, end: length });
      last = piece;
    }
    if (region === 'main') mainLength = length;
  }
  return { text: parts.join(''), mainLength, blocks, isWhole };
}

/** Kinds whose blocks stand on lines next to each other. */
function isLine(kind: BlockKind): boolean {
  return kind === 'item' || kind === 'definition' || kind === 'note';
}

/** A text without structure of its own, as one part. */
export function plainDocument(
  title: string,
  text: string,
  isWhole: boolean,
): Omit<ExtractedDocument, 'published' | 'language'> {
  const blocks: Block[] =
    text === '' ? [] : [{ kind: 'paragraph', region: 'main', start: 0, end: text.length }];
  return { title, text, mainLength: text.length, blocks, hidden: 0, isWhole };
}
