import { getResolvedPDFJS } from 'unpdf';
import {
  type Area,
  type Box,
  boxOf,
  type Clip,
  clipped,
  covers,
  EVERYWHERE,
  inFrame,
  isEmpty,
  type Matrix,
  matrixOf,
  narrowed,
  overlap,
  partsOf,
  times,
} from './pdf-areas.ts';
import type { openPdf } from './pdf-pictures.ts';

type Document = Awaited<ReturnType<typeof openPdf>>;
type Page = Awaited<ReturnType<Document['getPage']>>;
export type Layers = Awaited<ReturnType<Document['getOptionalContentConfig']>>;

/** A stretch of text as it is painted, in the frame of its baseline: `x` along it, `y` above it, in the page's own units. */
export interface InkRun {
  text: string;
  /** Of its baseline: cosine and sine. */
  direction: readonly [number, number];
  x: number;
  y: number;
  width: number;
  isSeen: boolean;
}

/** While the page is being read. */
interface OpenRun extends InkRun {
  box: Box;
  /** Painted without ink: as the text of a scan that was recognised, or as a clip for what is painted then. */
  isBare: boolean;
  isClip: boolean;
  /** How many areas were painted before it. */
  before: number;
}

interface State {
  matrix: Matrix;
  clip: Clip;
  fill: string | undefined;
  stroke: string | undefined;
  fillAlpha: number;
  strokeAlpha: number;
  /** Of the groups around it. */
  groupAlpha: number;
  /** A mask, or another way of mixing than to paint over what is there. */
  isMixed: boolean;
  mode: number;
  size: number;
  lineWidth: number;
  charSpacing: number;
  wordSpacing: number;
  stretch: number;
  rise: number;
}

const PAPER = '#ffffff';
/** Neither filled nor stroked, as the text of a scan that was recognised; and the same as a clip. */
const INVISIBLE = 3;
const CLIP = 7;
const FILLED: ReadonlySet<number> = new Set([0, 2, 4, 6]);
const STROKED: ReadonlySet<number> = new Set([1, 2, 5, 6]);
/** Thicker lines may be what stands behind a text. */
const THICK = 4;

/**
 * The text of a page as it is painted, and whether a reader sees it: not what has the colour of all that lies behind it, no
 * ink or no size, what is clipped away, in a layer that is off, or under a rectangle. Where that is not sure it counts as seen.
 */
export async function inkOf(page: Page, layers?: Layers): Promise<InkRun[]> {
  const { OPS } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList();
  const areas: Area[] = [];
  const runs: OpenRun[] = [];
  const stack: State[] = [];
  let state: State = {
    matrix: [1, 0, 0, 1, 0, 0],
    clip: EVERYWHERE,
    fill: '#000000',
    stroke: '#000000',
    fillAlpha: 1,
    strokeAlpha: 1,
    groupAlpha: 1,
    isMixed: false,
    mode: 0,
    size: 0,
    lineWidth: 1,
    charSpacing: 0,
    wordSpacing: 0,
    stretch: 1,
    rise: 0,
  };
  let [line, place]: [Matrix, number] = [[1, 0, 0, 1, 0, 0], 0];
  let leading = 0;
  /** A path that is painted next narrows the clip. */
  let isClipping = false;
  /** Text since `beginText` that is a clip for what comes behind it. */
  let clips: Box[] = [];
  /** For each stretch of marked content whether its layer is off. */
  const off: boolean[] = [];
  const isOff = () => off.includes(true);
  const move = (x: number, y: number) => {
    line = times(line, [1, 0, 0, 1, x, y]);
    place = 0;
  };
  const paint = (area: Area | undefined) => {
    const inside = area === undefined || isOff() ? undefined : clipped(area, state.clip);
    if (inside !== undefined) areas.push(inside);
  };
  const show = (glyphs: unknown) => {
    const { run, advance } = runOf(glyphs, state, times(state.matrix, line), place, areas);
    place += advance;
    if (run === undefined) return;
    if (state.mode > INVISIBLE) clips.push(run.box);
    runs.push(isOff() ? { ...run, isSeen: false, isBare: false, isClip: false } : run);
  };
  for (const [index, op] of fnArray.entries()) {
    const args: unknown[] = Array.isArray(argsArray[index]) ? argsArray[index] : [];
    const numbers = args.map(Number);
    const [first = 0, second = 0] = numbers;
    // Annotations lie in places of their own, and their text is not the page's.
    if (op === OPS.beginAnnotation) break;
    if (op === OPS.save) stack.push({ ...state });
    else if (op === OPS.beginGroup) {
      stack.push({ ...state });
      state.groupAlpha *= state.fillAlpha;
      [state.fillAlpha, state.strokeAlpha] = [1, 1];
    } else if (op === OPS.restore || op === OPS.endGroup || op === OPS.paintFormXObjectEnd)
      state = stack.pop() ?? state;
    else if (op === OPS.transform) {
      state.matrix = times(state.matrix, matrixOf(args));
      paint(pictureAt(state.matrix));
    } else if (op === OPS.paintFormXObjectBegin) {
      stack.push({ ...state });
      if (args[0]) state.matrix = times(state.matrix, matrixOf(args[0]));
    } else if (op === OPS.setFillRGBColor) state.fill = colourOf(args);
    else if (op === OPS.setStrokeRGBColor) state.stroke = colourOf(args);
    else if (op === OPS.setFillColorN || op === OPS.setFillTransparent) state.fill = undefined;
    else if (op === OPS.setStrokeColorN || op === OPS.setStrokeTransparent) state.stroke = undefined;
    else if (op === OPS.setGState) setStates(state, args[0]);
    else if (op === OPS.setLineWidth) state.lineWidth = first;
    else if (op === OPS.setTextRenderingMode) state.mode = first;
    else if (op === OPS.setTextRise) state.rise = first;
    else if (op === OPS.setFont) state.size = Number(args[1]);
    else if (op === OPS.setCharSpacing) state.charSpacing = first;
    else if (op === OPS.setWordSpacing) state.wordSpacing = first;
    else if (op === OPS.setHScale) state.stretch = first / 100;
    else if (op === OPS.setLeading) leading = -first;
    else if (op === OPS.beginText) [line, place] = [[1, 0, 0, 1, 0, 0], 0];
    else if (op === OPS.endText) {
      if (clips.length > 0)
        state.clip = narrowed(
          state.clip,
          clips.map((box) => ({ box, isRectangle: false })),
        );
      clips = [];
    } else if (op === OPS.setTextMatrix) [line, place] = [matrixOf(args[0]), 0];
    else if (op === OPS.moveText) move(first, second);
    else if (op === OPS.setLeadingMoveText) {
      leading = second;
      move(first, second);
    } else if (op === OPS.nextLine) move(0, leading);
    else if (op === OPS.showText || op === OPS.showSpacedText) show(args[0]);
    else if (op === OPS.nextLineShowText) {
      move(0, leading);
      show(args[0]);
    } else if (op === OPS.clip || op === OPS.eoClip) isClipping = true;
    else if (op === OPS.constructPath) {
      const [, data, bounds] = args;
      const parts = partsOf(Array.isArray(data) ? data[0] : undefined, bounds, state.matrix);
      for (const area of areasOf(Number(args[0]), parts, state, OPS)) paint(area);
      if (isClipping) state.clip = narrowed(state.clip, parts);
      isClipping = false;
    } else if (op === OPS.shadingFill)
      paint({ box: EVERYWHERE.box, colour: undefined, isRectangle: isOpaque(state) });
    else if (op === OPS.beginMarkedContentProps)
      off.push(
        args[0] === 'OC' && layers?.isVisible(args[1] as Parameters<Layers['isVisible']>[0]) === false,
      );
    else if (op === OPS.beginMarkedContent) off.push(false);
    else if (op === OPS.endMarkedContent) off.pop();
  }
  settle(runs, areas);
  return runs;
}

/** What is only known once all is painted. */
function settle(runs: readonly OpenRun[], areas: readonly Area[]): void {
  // The text of a scan stands below its picture or above it.
  const pictures = areas.filter(({ isPicture }) => isPicture).slice(0, MOST_AREAS);
  const isShort = areas.length <= MOST_AREAS;
  for (const run of runs) {
    if (run.isBare) run.isSeen = pictures.some(({ box }) => overlap(box, run.box));
    const above = isShort ? areas.slice(run.before) : [];
    if (run.isClip) run.isSeen = !isShort || above.some(({ box }) => overlap(box, run.box));
    else if (run.isSeen && !run.isBare)
      run.isSeen = !above.some(
        ({ box, colour, isRectangle }) => isRectangle && colour !== undefined && covers(box, run.box),
      );
  }
}

/** Points on a side from which a picture may be one that a page is about. */
const LEAST_PICTURE = 16;

/** Pictures fill the unit square, and those that are not decoded are missing among the operators: only their matrix is there. */
function pictureAt(matrix: Matrix): Area | undefined {
  const box = boxOf([0, 0, 1, 1], matrix);
  const isLarge = box[2] - box[0] >= LEAST_PICTURE && box[3] - box[1] >= LEAST_PICTURE;
  return isLarge ? { box, colour: undefined, isRectangle: true, isPicture: true } : undefined;
}

function setStates(state: State, given: unknown): void {
  if (!Array.isArray(given)) return;
  for (const [key, value] of given) {
    if (key === 'ca') state.fillAlpha = Number(value);
    else if (key === 'CA') state.strokeAlpha = Number(value);
    else if (key === 'Font' && Array.isArray(value)) state.size = Number(value[1]);
    else if (key === 'LW') state.lineWidth = Number(value);
    else if (key === 'SMask' && value !== false) state.isMixed = true;
    else if (key === 'SMask' || key === 'BM')
      state.isMixed = key === 'BM' && !/^(?:source-over|normal)$/i.test(String(value));
  }
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

/** Whether what is filled lets nothing through. */
function isOpaque({ fillAlpha, groupAlpha, isMixed }: State): boolean {
  return fillAlpha === 1 && groupAlpha === 1 && !isMixed;
}

/** The parts of a path that is filled, or drawn with a thick line. */
function areasOf(
  kind: number,
  parts: readonly { box: Box; isRectangle: boolean }[],
  state: State,
  OPS: Record<string, number>,
): Area[] {
  const { fill, eoFill, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke, stroke, closeStroke } =
    OPS;
  const isFilled = [fill, eoFill, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke].includes(
    kind,
  );
  const isThick =
    [stroke, closeStroke].includes(kind) &&
    state.lineWidth * Math.hypot(state.matrix[0], state.matrix[1]) >= THICK;
  if ((!isFilled && !isThick) || state.fillAlpha * state.groupAlpha === 0) return [];
  // Where the rectangles of one path overlap, they may leave holes.
  const mayHaveHoles = parts.length > 1 && [eoFill, eoFillStroke, closeEOFillStroke].includes(kind);
  return parts.map(({ box, isRectangle }) => ({
    box,
    colour: isFilled && isOpaque(state) ? state.fill : undefined,
    isRectangle: isFilled && isRectangle && isOpaque(state) && !mayHaveHoles,
  }));
}

interface Glyph {
  unicode?: string;
  width?: number;
  isSpace?: boolean;
}

/** What is shown at a place of a line, and how far the next begins behind it. */
function runOf(
  glyphs: unknown,
  state: State,
  matrix: Matrix,
  place: number,
  areas: readonly Area[],
): { run: OpenRun | undefined; advance: number } {
  const { size, charSpacing, wordSpacing, stretch, rise, mode } = state;
  let [text, advance] = ['', 0];
  for (const glyph of Array.isArray(glyphs) ? (glyphs as (Glyph | number | null)[]) : []) {
    if (typeof glyph === 'number') advance -= (glyph / 1000) * size * stretch;
    else if (glyph !== null) {
      const spacing = charSpacing + (glyph.isSpace === true ? wordSpacing : 0);
      advance += (((glyph.width ?? 0) / 1000) * size + spacing) * stretch;
      text += glyph.unicode ?? '';
    }
  }
  const scale = Math.hypot(matrix[0], matrix[1]);
  if (text.trim() === '' || advance < 0 || scale === 0) return { run: undefined, advance };
  const [pageX, pageY] = times(matrix, [1, 0, 0, 1, place, rise]).slice(4) as [number, number];
  const direction = [matrix[0] / scale, matrix[1] / scale] as const;
  const [x, y] = inFrame(pageX, pageY, direction);
  const corners: Box = [place, Math.min(rise, rise + size), place + advance, Math.max(rise, rise + size)];
  const box = boxOf(corners, matrix);
  const isBare = mode === INVISIBLE;
  return {
    advance,
    run: {
      text,
      direction,
      x,
      y,
      width: advance * scale,
      isSeen: box[3] > box[1] && isPainted(state, box, areas),
      box,
      isBare,
      isClip: mode === CLIP,
      before: areas.length,
    },
  };
}

function isPainted(state: State, box: Box, areas: readonly Area[]): boolean {
  if (!isEmpty(state.clip.box) && !overlap(state.clip.box, box)) return false;
  const { mode, fill, stroke, fillAlpha, strokeAlpha, groupAlpha, isMixed } = state;
  const inks = [
    ...(FILLED.has(mode) ? [{ colour: fill, alpha: fillAlpha * groupAlpha }] : []),
    // Lines around letters have a colour of their own.
    ...(STROKED.has(mode) ? [{ colour: stroke, alpha: strokeAlpha * groupAlpha }] : []),
  ].filter(({ alpha }) => alpha > 0);
  if (inks.length === 0) return false;
  if (isMixed || inks.some(({ colour }) => colour === undefined)) return true;
  // Comparing takes the product of both; maps and charts have more lines than words that nobody sees.
  if (areas.length > MOST_AREAS) return true;
  const behind = areas.filter((area) => overlap(area.box, box));
  const top = behind.findLast((area) => area.isRectangle && covers(area.box, box));
  const above = top === undefined ? behind : behind.slice(behind.indexOf(top));
  // Frames and curves may leave the middle free, so that what lies below them shows too.
  const colours = [...(top === undefined ? [PAPER] : []), ...above.map(({ colour }) => colour)];
  return colours.some((colour) => colour === undefined || inks.some((ink) => differs(ink, colour)));
}

const MOST_AREAS = 2000;

/** By how much a channel may differ, of 255; nobody tells such colours apart. */
const NEAR = 8;

function differs(
  { colour = '', alpha }: { colour: string | undefined; alpha: number },
  behind: string,
): boolean {
  const channels = (of: string) => [1, 3, 5].map((at) => Number.parseInt(of.slice(at, at + 2), 16));
  const theirs = channels(behind);
  return channels(colour).some(
    (channel, at) => !(Math.abs(channel - (theirs[at] ?? Number.NaN)) * alpha <= NEAR),
  );
}
