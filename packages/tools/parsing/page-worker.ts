// Runs in a thread: parses the pages that tools fetch.

import { load } from 'cheerio/slim';
import { htmlText, isTooDeep } from '../fetch-url/html-text.ts';
import { pdfText, type Readable } from '../fetch-url/pdf-text.ts';
import { readResultPage } from '../web-search/duckduckgo-page.ts';
import { serveParser } from './parser-thread.ts';

/** The headings, paragraphs and list items of a wiki's article, a line each. */
function articleLines(html: string): string[] {
  const page = load(html);
  page('style, script, table, .mw-editsection, sup.reference, nav, footer').remove();
  return page('p, li, h2, h3')
    .toArray()
    .map((element) => page(element).text().replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
}

/** The texts of pieces of HTML, such as the snippets of search results. */
function plainTexts(pieces: readonly string[]): string[] {
  return pieces.map((piece) => load(piece).text());
}

const parsers = {
  async html(html: string): Promise<Readable> {
    return isTooDeep(html) ? { problem: 'is nested too deep to be read' } : { text: await htmlText(html) };
  },
  pdf: pdfText,
  duckDuckGo: readResultPage,
  articleLines,
  plainTexts,
};

export type PageParsers = typeof parsers;
export type PageTask = {
  [Kind in keyof PageParsers]: { kind: Kind; input: Parameters<PageParsers[Kind]>[0] };
}[keyof PageParsers];

serveParser<PageTask, unknown>(({ kind, input }) => parsers[kind](input as never));
