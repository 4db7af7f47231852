import { ParserError, parsePage } from '../parsing/parser-pool.ts';
import { type DatedResult, SearchError } from './web-search.ts';

/** One result as an API gave it: title and snippet may hold HTML. */
interface RawResult {
  title: string | null | undefined;
  url: string;
  snippet: string | null | undefined;
  publishedDate: string | null | undefined;
}

const LONGEST_TEXT = 4000;

/** The results whose address can be opened, with plain text alone. */
export async function plainResults(found: readonly RawResult[], signal: AbortSignal): Promise<DatedResult[]> {
  const usable = found.filter(({ url }) => /^https?:\/\//.test(url));
  const pieces = usable.flatMap(({ title, snippet }) => [title ?? '', snippet ?? '']);
  const texts = await plainTexts(
    pieces.map((piece) => piece.slice(0, LONGEST_TEXT)),
    signal,
  );
  return usable.map(({ url, publishedDate }, index) => ({
    title: texts[2 * index] || url,
    url,
    snippet: texts[2 * index + 1] ?? '',
    ...(publishedDate && { publishedDate }),
  }));
}

async function plainTexts(pieces: string[], signal: AbortSignal): Promise<string[]> {
  // Most need no parser, which is a process of its own.
  const marked = pieces.filter((piece) => /[<&]/.test(piece));
  const parsed = marked.length === 0 ? [] : await parse(marked, signal);
  const texts = new Map(marked.map((piece, index) => [piece, parsed[index] ?? '']));
  return pieces.map((piece) => (texts.get(piece) ?? piece).replace(/\s+/g, ' ').trim());
}

async function parse(pieces: string[], signal: AbortSignal): Promise<string[]> {
  try {
    return await parsePage('plainTexts', pieces, signal);
  } catch (error) {
    if (!(error instanceof ParserError)) throw error;
    throw new SearchError('search_unreadable', 'The search results could not be read.', { cause: error });
  }
}
