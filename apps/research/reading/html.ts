import { Readability } from '@mozilla/readability';
import { type CheerioAPI, load } from 'cheerio';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { type Extracted, ExtractionError } from './extracted.ts';

const CLUTTER =
  'script, style, nav, footer, noscript, template, svg, iframe, form, aside, [role="navigation"], [aria-hidden="true"], .mw-editsection, sup.reference';
/** Fewer characters than this are no article. */
const LEAST = 80;

/** The readable part of a page: what it marks as its main content, else what Readability takes for the article. */
export function extractHtml(html: string, name: string): Extracted {
  const page = load(html);
  const published = publishedOf(page);
  const title = titleOf(page) || name;
  page(CLUTTER).remove();
  const marked = longest(page);
  const text = marked === undefined ? articleText(html, page) : toMarkdown(marked);
  if (text.trim() === '') throw new ExtractionError('is a page without text');
  return { title, text, ...(published !== undefined && { published }) };
}

function titleOf(page: CheerioAPI): string {
  const found = [
    page('meta[property="og:title"]').attr('content'),
    page('title').first().text(),
    page('h1').first().text(),
  ].find((text) => text !== undefined && text.trim() !== '');
  return (found ?? '').replace(/\s+/g, ' ').trim();
}

function publishedOf(page: CheerioAPI): string | undefined {
  const given =
    page('meta[property="article:published_time"]').attr('content') ??
    page('meta[name="date"], meta[itemprop="datePublished"]').attr('content') ??
    page('time[datetime]').first().attr('datetime');
  const time = Date.parse(given ?? '');
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** The longest element that is marked as main content; nothing when all are too short. */
function longest(page: CheerioAPI): string | undefined {
  const texts = page('main, [role="main"], article')
    .toArray()
    .map((element) => ({ html: page(element).html() ?? '', length: page(element).text().trim().length }))
    .filter(({ length }) => length >= LEAST)
    .sort((left, right) => right.length - left.length);
  return texts[0]?.html;
}

function articleText(html: string, page: CheerioAPI): string {
  const { document } = parseHTML(html);
  const article = new Readability(document as unknown as Document, { charThreshold: LEAST }).parse();
  const found = article?.content ? toMarkdown(article.content) : '';
  return found.trim().length >= LEAST ? found : toMarkdown(page('body').html() ?? '');
}

const turndown = new TurndownService({
  headingStyle: 'atx',
  bulletListMarker: '-',
  codeBlockStyle: 'fenced',
});
// Addresses inside a text are noise for a reader and for the comparison of sentences.
turndown.addRule('links', { filter: 'a', replacement: (content) => content });
turndown.addRule('emphasis', { filter: ['em', 'i', 'strong', 'b'], replacement: (content) => content });
turndown.addRule('images', { filter: ['img', 'picture', 'figure'], replacement: () => '' });
turndown.addRule('cells', { filter: ['td', 'th'], replacement: (content) => ` ${content.trim()} |` });
turndown.addRule('rows', { filter: 'tr', replacement: (content) => `\n${content.trim()}\n` });

export function toMarkdown(html: string): string {
  return tidy(turndown.turndown(html));
}

/** Escapes and reference marks such as [12] would only get in the way. */
export function tidy(text: string): string {
  return text
    .replace(/\\([\\`*_{}[\]()#+\-.!>~|])/g, '$1')
    .replace(/\[\d{1,3}\]/g, '')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
