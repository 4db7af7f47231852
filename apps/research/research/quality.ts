import type { FoundResult } from '../sources/search-aggregator.ts';

const GOOD_ENDINGS = /\.(?:gov|edu|mil|int)(?:\.[a-z]{2})?$|\.ac\.[a-z]{2}$/;
const REFERENCE =
  /(?:^|\.)(?:wikipedia\.org|britannica\.com|nature\.com|science\.org|nih\.gov|who\.int|europa\.eu|arxiv\.org|ieee\.org|acm\.org|un\.org|oecd\.org|worldbank\.org)$/;
const WEAK =
  /(?:^|\.)(?:pinterest\.[a-z.]+|quora\.com|facebook\.com|instagram\.com|tiktok\.com|x\.com|twitter\.com|reddit\.com|medium\.com|blogspot\.com|fandom\.com|answers\.com)$/;

/** How much a result can be trusted before it is read, from 0 to 1, by who publishes it and how it was found. */
export function qualityOf(result: FoundResult, isReference: boolean): number {
  const host = URL.parse(result.url)?.hostname.toLowerCase();
  if (host === undefined) return 0.9;
  let quality = 0.5;
  if (GOOD_ENDINGS.test(host)) quality += 0.25;
  if (REFERENCE.test(host) || isReference) quality += 0.25;
  if (WEAK.test(host)) quality -= 0.3;
  if (result.url.startsWith('https:')) quality += 0.05;
  quality += Math.min(0.15, 0.05 * ((result.engines?.length ?? 1) - 1));
  if (result.publishedDate !== undefined) quality += 0.05;
  if (result.snippet.length < 40) quality -= 0.1;
  return Math.min(1, Math.max(0, quality));
}
