/** A page of the pretended web. */
export interface CorpusPage {
  /** Path on the server; with `host` a full address elsewhere. */
  path: string;
  title: string;
  /** Paragraphs of plain text; the server makes HTML of them. */
  text: string;
  /** Articles are found and read through the MediaWiki API too. */
  encyclopedia?: boolean;
  publishedDate?: string;
  /** Bytes to serve instead of HTML, with their type. */
  body?: { type: string; bytes: Uint8Array };
}

/** The pages that share most words with the query, best first. */
export function findPages(pages: readonly CorpusPage[], query: string): CorpusPage[] {
  const wanted = new Set(words(query));
  return pages
    .map((page) => ({
      page,
      score: words(`${page.title} ${page.text}`).filter((word) => wanted.has(word)).length,
    }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ page }) => page);
}

/** The pages that have every word of the query, as a MediaWiki finds them. */
export function findArticles(pages: readonly CorpusPage[], query: string): CorpusPage[] {
  const wanted = (query.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((word) => word.length > 1);
  return findPages(pages, query).filter(({ title, text }) => {
    const own = new Set(`${title} ${text}`.toLowerCase().match(/[a-z0-9]+/g));
    return wanted.every((word) => own.has(word));
  });
}

const COMMON = new Set(
  'the and for are was with from that this what which how does its into about than has have'.split(' '),
);

function words(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]{3,}/g) ?? []).filter((word) => !COMMON.has(word));
}

export function snippetOf(page: CorpusPage): string {
  return page.text.replace(/\s+/g, ' ').slice(0, 160);
}

export function htmlOf(page: CorpusPage): string {
  return `<!doctype html><html><head><title>${escapeHtml(page.title)}</title></head><body><nav>Home | About</nav>
<main><h1>${escapeHtml(page.title)}</h1>${paragraphsOf(page)}</main><footer>All rights reserved.</footer></body></html>`;
}

export function paragraphsOf({ text }: CorpusPage): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `<p>${escapeHtml(line)}</p>`)
    .join('\n');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
