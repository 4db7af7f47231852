import { load } from 'cheerio/slim';

/** The headings, paragraphs and list items of a wiki's article, a line each. */
export function articleLines(html: string): string[] {
  const page = load(html);
  page('style, script, table, .mw-editsection, sup.reference, nav, footer').remove();
  return page('p, li, h2, h3')
    .toArray()
    .map((element) => page(element).text().replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
}

/** The texts of pieces of HTML, such as the snippets of search results. */
export function plainTexts(pieces: readonly string[]): string[] {
  return pieces.map((piece) => load(piece).text());
}
