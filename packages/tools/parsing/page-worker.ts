// Runs in a thread: parses the pages that tools fetch.
import { isTooDeep } from '../fetch-url/html-depth.ts';
import { htmlText } from '../fetch-url/html-text.ts';
import { pdfText } from '../fetch-url/pdf-text.ts';
import type { Readable } from '../fetch-url/readable.ts';
import { readResultPage } from '../web-search/duckduckgo-page.ts';
import { articleLines, plainTexts } from './paragraphs.ts';
import { serveParser } from './parser-thread.ts';

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
