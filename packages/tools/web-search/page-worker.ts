// Runs in a thread: parses what search engines answer with.

import { serveParser } from '@trunkline/documents/parser-thread';
import { load } from 'cheerio/slim';
import { readResultPage } from './duckduckgo-page.ts';

/** The texts of pieces of HTML, such as the snippets of search results. */
function plainTexts(pieces: readonly string[]): string[] {
  return pieces.map((piece) => load(piece).text());
}

const parsers = { duckDuckGo: readResultPage, plainTexts };

export type PageParsers = typeof parsers;
export type PageTask = {
  [Kind in keyof PageParsers]: { kind: Kind; input: Parameters<PageParsers[Kind]>[0] };
}[keyof PageParsers];

serveParser<PageTask, unknown>(({ kind, input }) => parsers[kind](input as never));
