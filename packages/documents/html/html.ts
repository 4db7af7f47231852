import {
  assemble,
  type ExtractedDocument,
  ExtractionError,
  PAGE_WITHOUT_TEXT,
  type Piece,
  type RawDocument,
} from '../document.ts';
import { writeBlocks } from './blocks.ts';
import { bodyOf, type Facts, mapPage } from './regions.ts';
import { descendants, type Element, type Page, parseTree, textContent } from './tree.ts';

/** The text of a page: its main part, and all else that a reader sees. */
export function extractHtml(
  html: string,
  name: string,
  { isCut = false, isContentOnly = false }: Pick<RawDocument, 'isCut' | 'isContentOnly'> = {},
): ExtractedDocument {
  const page = parseTree(html);
  if (isContentOnly) removeMenus(page.root);
  const { facts, hidden, isMarked } = mapPage(page);
  const body = bodyOf(page.root);
  const content = isContentOnly ? contentOf(body, facts) : [body];
  const pieces = writeBlocks(content, facts);
  if (!isMarked && content.includes(body)) trimEnds(pieces);
  moveOrphans(pieces);
  if (!pieces.some(({ region }) => region === 'main'))
    for (const piece of pieces)
      if (piece.region === 'side' || piece.region === 'chrome') piece.region = 'main';
  const { text, mainLength, blocks, isWhole } = assemble(pieces);
  if (text === '') throw new ExtractionError(PAGE_WITHOUT_TEXT);
  const { title, published, language } = metaOf(page);
  return {
    title: title || name,
    text,
    mainLength,
    blocks,
    hidden,
    isWhole: !isCut && !isContentOnly && hidden === 0 && !page.hasFrame && isWhole,
    ...(published !== undefined && { published }),
    ...(language !== undefined && { language }),
  };
}

function removeMenus(element: Element): void {
  element.children = element.children.filter(
    (child) => typeof child === 'string' || (child.name !== 'nav' && child.name !== 'footer'),
  );
  for (const child of element.children) if (typeof child !== 'string') removeMenus(child);
}

/** Articles with a smaller share of the page's text than this may be teasers of others. */
const LEAST_SHARE = 0.4;

/** What the page marks as its content: `main`, else its articles, else all of it. */
function contentOf(body: Element, facts: ReadonlyMap<Element, Facts>): Element[] {
  const lengthOf = (element: Element) => facts.get(element)?.length ?? 0;
  const outermost = (isKind: (element: Element) => boolean, element = body): Element[] => {
    if (lengthOf(element) === 0) return [];
    if (isKind(element)) return [element];
    return element.children.flatMap((child) => (typeof child === 'string' ? [] : outermost(isKind, child)));
  };
  const mains = outermost(({ name, attribs }) => name === 'main' || attribs.role === 'main');
  if (mains.length > 0) return mains;
  const articles = outermost(({ name }) => name === 'article');
  const held = articles.reduce((sum, article) => sum + lengthOf(article), 0);
  return articles.length > 0 && held >= lengthOf(body) * LEAST_SHARE ? articles : [body];
}

/** A paragraph of at least so many characters, with few of them in links, is prose. */
const PROSE = 100;
const LEAST_PROSE = 2;

/** On a page that marks no main part it runs from the first heading before the first prose to the last prose. */
function trimEnds(pieces: Piece[]): void {
  const main = pieces.filter(({ region }) => region === 'main');
  const isProse = ({ kind, text, linked = 0 }: Piece) =>
    kind === 'table' ||
    kind === 'code' ||
    kind === 'definition' ||
    (weightOf(text) >= PROSE && linked < text.length * 0.4);
  if (main.filter(isProse).length < LEAST_PROSE) return;
  const firstProse = main.findIndex(isProse);
  const lastProse = main.findLastIndex(isProse);
  const title = main.slice(0, firstProse).findIndex(({ kind, level }) => kind === 'heading' && level === 1);
  const heading = main.slice(0, firstProse).findLastIndex(({ kind }) => kind === 'heading');
  const start = title >= 0 ? title : heading >= 0 ? heading : firstProse;
  for (const [at, piece] of main.entries()) {
    if (at >= start && at <= lastProse) continue;
    piece.region = at > lastProse && isTail(main, at) ? 'main' : 'side';
  }
}

/** Whether a piece behind the last prose belongs to it: a sentence, an item of a list of few links, or a heading above those. */
function isTail(main: readonly Piece[], at: number): boolean {
  const piece = main[at];
  if (piece === undefined) return false;
  if (piece.kind === 'heading') return main[at + 1]?.kind !== 'heading' && isTail(main, at + 1);
  const { text, linked = 0 } = piece;
  return isSentence(piece) || (piece.kind === 'item' && linked < text.length * 0.3 && !COPYRIGHT.test(text));
}

const COPYRIGHT = /©|\(c\) \d{4}/i;

/** Whether a short text is whole sentences, and no label or copyright line. */
function isSentence({ kind, text, linked = 0 }: Piece): boolean {
  return (
    kind !== 'heading' &&
    weightOf(text) >= 50 &&
    /[.!?。！？]["”’)]?$/.test(text) &&
    linked < text.length * 0.3 &&
    !COPYRIGHT.test(text)
  );
}

/** Chinese, Japanese and Korean characters say as much as two others. */
function weightOf(text: string): number {
  return text.length + (text.match(/[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/g)?.length ?? 0);
}

/** A heading whose whole section went to the rest goes with it. */
function moveOrphans(pieces: Piece[]): void {
  /** The next piece of the main part. */
  let following: Piece | undefined;
  for (let at = pieces.length - 1; at >= 0; at -= 1) {
    const piece = pieces[at] as Piece;
    const next = pieces[at + 1];
    const level = piece.level ?? 6;
    if (
      piece.kind === 'heading' &&
      piece.region === 'main' &&
      level !== 1 &&
      next &&
      next.region !== 'main'
    ) {
      const isEnd =
        following === undefined || (following.kind === 'heading' && (following.level ?? 6) <= level);
      if (isEnd) piece.region = next.region;
    }
    if (piece.region === 'main') following = piece;
  }
}

function metaOf({ root, data }: Page): {
  title: string;
  published: string | undefined;
  language: string | undefined;
} {
  const elements = descendants(root);
  const content = (isIt: (attribs: Record<string, string>) => boolean) =>
    elements.find(({ name, attribs }) => name === 'meta' && isIt(attribs))?.attribs.content;
  const text = (name: string) => {
    const element = elements.find((each) => each.name === name);
    return element === undefined ? undefined : textContent(element);
  };
  const title = [content(({ property }) => property === 'og:title'), text('title'), text('h1')].find(
    (given) => given !== undefined && given.trim() !== '',
  );
  const published = [
    content(({ property }) => property === 'article:published_time'),
    content(
      ({ name, itemprop }) => name === 'date' || itemprop === 'datePublished' || name === 'DC.date.issued',
    ),
    /"datePublished"\s*:\s*"([^"]{4,40})"/.exec(data.join('\n'))?.[1],
    elements.find(({ name, attribs }) => name === 'time' && attribs.datetime !== undefined)?.attribs.datetime,
  ]
    .map((given) => Date.parse(given ?? ''))
    .find((time) => !Number.isNaN(time));
  const language = elements.find(({ name }) => name === 'html')?.attribs.lang?.trim();
  return {
    title: (title ?? '').replace(/\s+/g, ' ').trim(),
    published: published === undefined ? undefined : new Date(published).toISOString(),
    language: language || undefined,
  };
}
