// Runs in a thread: parses what search engines answer with.

import { serveParser } from '@trunkline/documents/parser-thread';
import { type CheerioAPI, load } from 'cheerio/slim';
import type { SearchResult } from './web-search.ts';

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

export interface ResultPage {
  results: SearchResult[];
  /** The page asks whether a person is searching. */
  isChallenge: boolean;
  /** The page says that nothing was found. */
  saysNone: boolean;
}

/** Reads DuckDuckGo's page of results. */
export function readResultPage(html: string): ResultPage {
  const page = load(html);
  return {
    results: page('.result')
      .toArray()
      .flatMap((element) => resultOf(page, element)),
    isChallenge: page('.anomaly-modal__title, #challenge-form').length > 0,
    saysNone: page('.no-results, .result--no-result').length > 0,
  };
}

/** Advertisements and empty rows give nothing. */
function resultOf(page: CheerioAPI, element: Parameters<CheerioAPI>[0]): SearchResult[] {
  const row = page(element as string);
  if (row.is('.result--ad, .result--no-result')) return [];
  const link = row.find('.result__a').first();
  const url = targetOf(link.attr('href') ?? '');
  if (url === undefined) return [];
  return [{ title: plain(link.text()), url, snippet: plain(row.find('.result__snippet').first().text()) }];
}

/** Links lead through a redirect that carries the real address in `uddg`. */
function targetOf(href: string): string | undefined {
  const link = URL.parse(href, 'https://duckduckgo.com');
  const target = URL.parse(link?.searchParams.get('uddg') ?? link?.href ?? '');
  if (target === null || !/^https?:$/.test(target.protocol)) return undefined;
  return target.hostname.endsWith('duckduckgo.com') && target.pathname === '/y.js' ? undefined : target.href;
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
