import { getResolvedPDFJS } from 'unpdf';
import type { openPdf } from './pdf-pictures.ts';

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof openPdf>>['getPage']>>;
type Matrix = readonly [number, number, number, number, number, number];

/** A stretch of text as it is painted, from the lower left corner of the page in its own units. */
export interface InkRun {
  text: string;
  x: number;
  y: number;
  width: number;
  isSeen: boolean;
}

/** While the page is being read. */
interface OpenRun extends InkRun {
  box: Area['box'];
  /** Painted without ink. */
  isBare: boolean;
}

/** A filled area and its colour; undefined where it has several, or one that is not known. */
interface Area {
  box: readonly [number, number, number, number];
  colour: string | undefined;
  isRectangle: boolean;
  /** A picture may stand there. */
  isPicture?: boolean;
}

interface State {
  matrix: Matrix;
  fill: string | undefined;
  alpha: number;
  mode: number;
  size: number;
  lineWidth: number;
  charSpacing: number;
  wordSpacing: number;
  stretch: number;
}

const PAPER = '#ffffff';
/** Neither filled nor stroked, as the text of a scan that was recognised. */
const INVISIBLE = 3;
/** Thicker lines may be what stands behind a text. */
const THICK = 4;

/**
 * The upright text of a page as it is painted, and whether a reader sees it: not what has the colour of all that lies behind
 * it, no ink, or no size. Where that is not sure it counts as seen.
 */
export async function inkOf(page: Page): Promise<InkRun[]> {
  const { OPS } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList();
  const areas: Area[] = [];
  const runs: OpenRun[] = [];
  const stack: State[] = [];
  let state: State = {
    matrix: [1, 0, 0, 1, 0, 0],
    fill: '#000000',
    alpha: 1,
    mode: 0,
    size: 0,
    lineWidth: 1,
    charSpacing: 0,
    wordSpacing: 0,
    stretch: 1,
  };
  let [line, place]: [Matrix, number] = [[1, 0, 0, 1, 0, 0], 0];
  let leading = 0;
  const move = (x: number, y: number) => {
    line = times(line, [1, 0, 0, 1, x, y]);
    place = 0;
  };
  const show = (glyphs: unknown) => {
    const run = runOf(glyphs, state, times(state.matrix, line), place, areas);
    place += run.advance;
    if (run.run !== undefined) runs.push(run.run);
  };
  for (const [index, op] of fnArray.entries()) {
    const args: unknown[] = Array.isArray(argsArray[index]) ? argsArray[index] : [];
    const numbers = args.map(Number);
    const [first = 0, second = 0] = numbers;
    if (op === OPS.save || op === OPS.beginGroup) stack.push({ ...state });
    else if (op === OPS.restore || op === OPS.endGroup || op === OPS.paintFormXObjectEnd)
      state = stack.pop() ?? state;
    else if (op === OPS.transform) {
      state.matrix = times(state.matrix, matrixOf(args));
      const picture = pictureAt(state.matrix);
      if (picture !== undefined) areas.push(picture);
    } else if (op === OPS.paintFormXObjectBegin) {
      stack.push({ ...state });
      if (args[0]) state.matrix = times(state.matrix, matrixOf(args[0]));
    } else if (op === OPS.setFillRGBColor) state.fill = colourOf(args);
    else if (op === OPS.setFillColorN || op === OPS.setFillTransparent) state.fill = undefined;
    else if (op === OPS.setGState) setStates(state, args[0]);
    else if (op === OPS.setLineWidth) state.lineWidth = first;
    else if (op === OPS.setTextRenderingMode) state.mode = first;
    else if (op === OPS.setFont) state.size = Number(args[1]);
    else if (op === OPS.setCharSpacing) state.charSpacing = first;
    else if (op === OPS.setWordSpacing) state.wordSpacing = first;
    else if (op === OPS.setHScale) state.stretch = first / 100;
    else if (op === OPS.setLeading) leading = first;
    else if (op === OPS.beginText) [line, place] = [[1, 0, 0, 1, 0, 0], 0];
    else if (op === OPS.setTextMatrix) [line, place] = [matrixOf(args[0]), 0];
    else if (op === OPS.moveText) move(first, second);
    else if (op === OPS.setLeadingMoveText) {
      leading = second;
      move(first, second);
    } else if (op === OPS.nextLine) move(0, leading);
    else if (op === OPS.showText || op === OPS.showSpacedText) show(args[0]);
    else if (op === OPS.nextLineShowText) {
      move(0, leading);
      show(args[0]);
    } else if (op === OPS.constructPath) {
      const area = areaOf(args, state, OPS);
      if (area !== undefined) areas.push(area);
    } else if (op === OPS.shadingFill) areas.push({ box: EVERYWHERE, colour: undefined, isRectangle: true });
  }
  // The text of a scan stands below its picture or above it.
  const pictures = areas.filter(({ isPicture }) => isPicture).slice(0, MOST_AREAS);
  for (const run of runs) if (run.isBare) run.isSeen = pictures.some(({ box }) => overlap(box, run.box));
  return runs;
}

/** Points on a side from which a picture may be one that a page is about. */
const LEAST_PICTURE = 16;

/** Pictures fill the unit square, and those that are not decoded are missing among the operators: only their matrix is there. */
function pictureAt(matrix: Matrix): Area | undefined {
  const { box } = areaBetween([0, 0, 1, 1], matrix);
  const isLarge = box[2] - box[0] >= LEAST_PICTURE && box[3] - box[1] >= LEAST_PICTURE;
  return isLarge ? { box, colour: undefined, isRectangle: true, isPicture: true } : undefined;
}

const EVERYWHERE = [-1e9, -1e9, 1e9, 1e9] as const;

function setStates(state: State, given: unknown): void {
  if (!Array.isArray(given)) return;
  for (const [key, value] of given) if (key === 'ca') state.alpha = Number(value);
}

function colourOf(args: readonly unknown[]): string | undefined {
  const [first] = args;
  if (typeof first === 'string') return first.toLowerCase();
  if (args.length < 3) return undefined;
  return `#${args
    .slice(0, 3)
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')}`;
}

function matrixOf(given: unknown): Matrix {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = Array.from(given as ArrayLike<number>, Number);
  return [a, b, c, d, e, f];
}

function times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** A path that is filled, or drawn with a thick line. */
function areaOf(args: readonly unknown[], state: State, OPS: Record<string, number>): Area | undefined {
  const [kind, data, box] = args;
  const isFilled = [
    OPS.fill,
    OPS.eoFill,
    OPS.fillStroke,
    OPS.eoFillStroke,
    OPS.closeFillStroke,
    OPS.closeEOFillStroke,
  ].includes(Number(kind));
  const isThick =
    [OPS.stroke, OPS.closeStroke].includes(Number(kind)) &&
    state.lineWidth * Math.hypot(state.matrix[0], state.matrix[1]) >= THICK;
  if ((!isFilled && !isThick) || box === undefined || box === null) return undefined;
  if (isFilled && state.alpha === 0) return undefined;
  const corners = Array.from(box as ArrayLike<number>, Number);
  const [path] = Array.isArray(data) ? data : [];
  const isRectangle = isFilled && (path?.length ?? 0) <= LONGEST_RECTANGLE && state.alpha === 1;
  const colour = isThick || state.alpha !== 1 ? undefined : state.fill;
  return { ...areaBetween(corners, state.matrix), colour, isRectangle };
}

/** Numbers of a path of four lines. */
const LONGEST_RECTANGLE = 16;

function areaBetween(
  [left = 0, bottom = 0, right = 0, top = 0]: readonly number[],
  matrix: Matrix,
): Pick<Area, 'box'> {
  const corners = [
    [left, bottom],
    [right, bottom],
    [left, top],
    [right, top],
  ].map(([x = 0, y = 0]) => times(matrix, [1, 0, 0, 1, x, y]));
  const [xs, ys] = [corners.map((corner) => corner[4]), corners.map((corner) => corner[5])];
  return { box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] };
}

interface Glyph {
  unicode?: string;
  width?: number;
  isSpace?: boolean;
}

/** What is shown at a place of a line, and how far the next begins behind it. Text that is not upright has no run. */
function runOf(
  glyphs: unknown,
  state: State,
  matrix: Matrix,
  place: number,
  areas: readonly Area[],
): { run: OpenRun | undefined; advance: number } {
  const { size, charSpacing, wordSpacing, stretch } = state;
  let [text, advance] = ['', 0];
  for (const glyph of Array.isArray(glyphs) ? (glyphs as (Glyph | number | null)[]) : []) {
    if (typeof glyph === 'number') advance -= (glyph / 1000) * size * stretch;
    else if (glyph !== null) {
      const spacing = charSpacing + (glyph.isSpace === true ? wordSpacing : 0);
      advance += (((glyph.width ?? 0) / 1000) * size + spacing) * stretch;
      text += glyph.unicode ?? '';
    }
  }
  const [x, y] = times(matrix, [1, 0, 0, 1, place, 0]).slice(4) as [number, number];
  const width = advance * matrix[0];
  const height = Math.abs(size * matrix[3]);
  const isUpright = Math.abs(matrix[1]) < 1e-6 && Math.abs(matrix[2]) < 1e-6 && width >= 0;
  if (!isUpright || text.trim() === '') return { run: undefined, advance };
  const box = [x, y, x + width, y + height] as const;
  const isSeen = height > 0 && isPainted(state, box, areas);
  return { run: { text, x, y, width, isSeen, box, isBare: state.mode === INVISIBLE }, advance };
}

function isPainted(state: State, box: Area['box'], areas: readonly Area[]): boolean {
  if (state.mode === INVISIBLE || state.alpha === 0) return false;
  // Lines around letters have a colour of their own.
  if (state.mode !== 0 || state.fill === undefined) return true;
  // Comparing takes the product of both; maps and charts have more lines than words that nobody sees.
  if (areas.length > MOST_AREAS) return true;
  const behind = areas.filter((area) => overlap(area.box, box));
  const top = behind.findLast((area) => area.isRectangle && covers(area.box, box));
  const above = top === undefined ? behind : behind.slice(behind.indexOf(top));
  // Frames and curves may leave the middle free, so that what lies below them shows too.
  const colours = [...(top === undefined ? [PAPER] : []), ...above.map(({ colour }) => colour)];
  return colours.some((colour) => colour === undefined || !areAlike(colour, state.fill));
}

const MOST_AREAS = 2000;

function overlap([left, bottom, right, top]: Area['box'], [x, y, endX, endY]: Area['box']): boolean {
  return left < endX && right > x && bottom < endY && top > y;
}

function covers([left, bottom, right, top]: Area['box'], [x, y, endX, endY]: Area['box']): boolean {
  return left <= x + 1 && right >= endX - 1 && bottom <= y + 1 && top >= endY - 1;
}

/** By how much a channel may differ, of 255; nobody tells such colours apart. */
const NEAR = 8;

function areAlike(one: string, other: string | undefined): boolean {
  const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const theirs = channels(other ?? '');
  return channels(one).every((channel, at) => Math.abs(channel - (theirs[at] ?? Number.NaN)) <= NEAR);
}
