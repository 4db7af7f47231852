import { PROTECTED } from './damage.ts';
import {
  assemble,
  type ExtractedDocument,
  ExtractionError,
  NEEDS_RECOGNITION,
  type Piece,
  type RawDocument,
} from './document.ts';
import { inFrame } from './pdf-areas.ts';
import type { InkRun } from './pdf-ink.ts';
import { joinLines, type Run, readPage } from './pdf-layout.ts';
import type { Scan } from './pdf-pictures.ts';

/** A page with fewer characters than this may be a scan. */
const LEAST_OF_A_PAGE = 8;
/** Scanned pages that are recognised of one document; each takes seconds. */
const MOST_SCANS = 20;

/** Recognises the text of pictures until it is closed. */
export interface Recogniser {
  recognise(scan: Scan): Promise<string>;
  close(): Promise<void>;
}

/**
 * The text of a PDF in the order in which it is read, tables as rows. Pages that are pictures are recognised where that
 * is allowed; text beside them is never lost to a failure of it.
 */
export async function extractPdf(
  { bytes, name, isCut }: Pick<RawDocument, 'bytes' | 'name' | 'isCut'>,
  openRecogniser?: () => Promise<Recogniser>,
): Promise<ExtractedDocument> {
  const { getMeta } = await import('unpdf');
  const { openPdf, PageContents } = await import('./pdf-pictures.ts');
  const { inkOf } = await import('./pdf-ink.ts');
  try {
    const document = await openPdf(bytes);
    const contents = new PageContents(bytes);
    const layers = await document.getOptionalContentConfig();
    const pieces: Piece[] = [];
    const turned: Piece[] = [];
    const pictures: { number: number; at: number }[] = [];
    let [hidden, isDrawn] = [0, false];
    for (let number = 1; number <= document.numPages; number += 1) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      const shown = await withoutUnseen(items, () => inkOf(page, layers));
      const read = readItems(shown.items, page.getViewport({ scale: 1 }));
      read.hidden += shown.hidden;
      hidden += read.hidden;
      if (lengthOf(read.pieces) + lengthOf(read.turned) < LEAST_OF_A_PAGE) {
        const content = await contents.of(page);
        if (content === 'picture') pictures.push({ number, at: pieces.length });
        if (content === 'drawing') isDrawn = true;
      }
      join(pieces, read.pieces);
      for (const piece of read.turned) turned.push(piece);
      page.cleanup();
    }
    const hasText = pieces.length + turned.length > 0;
    if (!hasText && pictures.length > MOST_SCANS)
      throw new ExtractionError(
        `is a scan of ${pictures.length} pages, of which at most ${MOST_SCANS} are recognised at once. Split it, or upload a version with text`,
      );
    if (!hasText && pictures.length > 0 && openRecogniser === undefined)
      throw new ExtractionError(NEEDS_RECOGNITION);
    if (openRecogniser !== undefined)
      await addRecognised(pieces, pictures.slice(0, MOST_SCANS), bytes, openRecogniser, hasText);
    const assembled = assemble([...pieces, ...turned]);
    if (assembled.text === '')
      throw new ExtractionError(
        pictures.length === 0
          ? 'is a PDF without text'
          : 'is a PDF of pictures, which hold no text that can be recognised or are larger than 40 megapixels',
      );
    const { info } = await getMeta(document);
    const given: unknown = info?.Title;
    const title = typeof given === 'string' && given.trim() !== '' ? given.trim() : name;
    return {
      title,
      ...assembled,
      hidden,
      isWhole: pictures.length === 0 && !isDrawn && hidden === 0 && isCut !== true && assembled.isWhole,
      ...(pictures.length > 0 && openRecogniser === undefined && { hasPictures: true }),
    };
  } catch (error) {
    if (error instanceof ExtractionError) throw error;
    if (error instanceof Error && error.name === 'PasswordException')
      throw new ExtractionError(PROTECTED, { cause: error });
    throw new ExtractionError(
      'is a PDF that cannot be read: it is cut off or damaged. Get it again, or print it into a new PDF',
      { cause: error },
    );
  }
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + text.length, 0);
}

/** Recognises pages that are pictures, one at a time, and puts their paragraphs where they belong. */
async function addRecognised(
  pieces: Piece[],
  pictures: readonly { number: number; at: number }[],
  bytes: Uint8Array,
  openRecogniser: () => Promise<Recogniser>,
  hasText: boolean,
): Promise<void> {
  if (pictures.length === 0) return;
  const { PagePictures } = await import('./pdf-pictures.ts');
  const pages = new PagePictures(bytes);
  const found: { at: number; text: string }[] = [];
  let recogniser: Recogniser | undefined;
  try {
    recogniser = await openRecogniser();
    for (const { number, at } of pictures) {
      const scan = await pages.largest(number);
      if (scan !== undefined) found.push({ at, text: await recogniser.recognise(scan) });
    }
  } catch (error) {
    if (!hasText && found.length === 0) throw error;
  } finally {
    await recogniser?.close();
  }
  for (const { at, text } of found.reverse()) pieces.splice(at, 0, ...paragraphsOf(text));
}

export function paragraphsOf(text: string): Piece[] {
  return text
    .split(/\n\s*\n/)
    .map((part) => part.replace(/\s+/g, ' ').trim())
    .filter((part) => part !== '')
    .map((part) => ({ kind: 'paragraph', region: 'main', text: part }));
}

interface Item {
  str: string;
  transform: unknown[];
  width: number;
  height: number;
}

/**
 * The items of a page without text that nobody sees, which is counted. Of an item that has both, the runs that are seen stay.
 */
async function withoutUnseen(
  items: readonly (Item | object)[],
  inkOf: () => Promise<InkRun[]>,
): Promise<{ items: (Item | object)[]; hidden: number }> {
  const all = [...items];
  if (!all.some((item) => 'str' in item && item.str.trim() !== '')) return { items: all, hidden: 0 };
  const runs = await inkOf();
  if (runs.every(({ isSeen }) => isSeen)) return { items: all, hidden: 0 };
  const lines = Map.groupBy(runs, ({ direction, y }) => lineOf(direction, y, 0));
  let hidden = 0;
  const kept = all.flatMap((item): (Item | object)[] => {
    if (!('str' in item) || item.str.trim() === '') return [item];
    const [along = 1, up = 0, , , pageX = 0, pageY = 0] = item.transform.map(Number);
    const length = Math.hypot(along, up) || 1;
    const direction = [along / length, up / length] as const;
    const [x, y] = inFrame(pageX, pageY, direction);
    const near = [-1, 0, 1].flatMap((step) => lines.get(lineOf(direction, y, step)) ?? []);
    const own = near.filter(
      (run) => Math.abs(run.y - y) < NEAR && run.x < x + item.width - NEAR && run.x + run.width > x + NEAR,
    );
    if (own.length === 0 || own.every(({ isSeen }) => isSeen)) return [item];
    const seen = own.filter(({ isSeen }) => isSeen);
    hidden += item.str.trim().length - seen.reduce((sum, { text }) => sum + text.trim().length, 0);
    return seen.map((run) => ({
      ...item,
      str: run.text,
      width: run.width,
      transform: [...item.transform.slice(0, 4), ...inFrame(run.x, run.y, [direction[0], -direction[1]])],
    }));
  });
  return { items: kept, hidden: Math.max(0, hidden) };
}

/** The baseline, in degrees and points, that runs and items meet at; `step` is one of those beside it. */
function lineOf([cosine, sine]: readonly [number, number], y: number, step: number): string {
  const degrees = Math.round((Math.atan2(sine, cosine) * 180) / Math.PI);
  return `${degrees === -180 ? 180 : degrees} ${Math.floor(y) + step}`;
}

/** By how much the places of the same text may differ, in points. */
const NEAR = 0.5;

interface Viewport {
  transform: readonly number[];
  height: number;
}

/** Smaller type than this, on a page of a usual size, is not meant to be read. */
const TINY = 1.5;

/**
 * The blocks of a page as it is shown, turned so that most of its text is upright. The text that stands across it, such as
 * a stamp or the label of an axis, comes after all else.
 */
function readItems(
  items: readonly (Item | object)[],
  { transform, height }: Viewport,
): { pieces: Piece[]; turned: Piece[]; hidden: number } {
  const [a = 1, b = 0, c = 0, d = -1, e = 0, f = 0] = transform;
  const scale = Math.hypot(a, b);
  const sides: Run[][] = [[], [], [], []];
  let hidden = 0;
  for (const item of items) {
    if (!('str' in item) || item.str.trim() === '') continue;
    const [along = 1, up = 0, , , itemX = 0, itemY = 0] = item.transform.map(Number);
    const [x, y] = [a * itemX + c * itemY + e, height - (b * itemX + d * itemY + f)];
    const [right, rise] = [a * along + c * up, -(b * along + d * up)];
    const size = item.height * scale || 10;
    if (size < TINY && height > 200) {
      hidden += item.str.trim().length;
      continue;
    }
    const side = (Math.round(Math.atan2(rise, right) / (Math.PI / 2)) + 4) % 4;
    const [turnedX = x, turnedY = y] =
      [
        [x, y],
        [y, -x],
        [-x, -y],
        [-y, x],
      ][side] ?? [];
    sides[side]?.push({ text: item.str, x: turnedX, y: turnedY, width: item.width * scale, size });
  }
  const weights = sides.map((runs) => runs.reduce((sum, { text }) => sum + text.length, 0));
  const most = weights.indexOf(weights.reduce((best, each) => Math.max(best, each), 0));
  const turned = sides.flatMap((runs, side) =>
    side === most ? [] : readPage(runs).map((piece): Piece => ({ ...piece, region: 'side' })),
  );
  return { pieces: readPage(sides[most] ?? []), turned, hidden };
}

/** Adds the pieces of a page; a paragraph that the page's end cut is put together again. */
function join(pieces: Piece[], page: readonly Piece[]): void {
  const [next, ...others] = page;
  const last = pieces.at(-1);
  const goesOn =
    last?.kind === 'paragraph' &&
    next?.kind === 'paragraph' &&
    /[\p{L},-]$/u.test(last.text) &&
    /^\p{Ll}/u.test(next.text);
  if (goesOn) last.text = joinLines(last.text, next.text);
  for (const piece of goesOn ? others : page) pieces.push(piece);
}
