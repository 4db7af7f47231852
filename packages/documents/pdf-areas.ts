// What is painted on a page besides its text: filled areas, thick lines, pictures, and what they are clipped to.
export type Matrix = readonly [number, number, number, number, number, number];
export type Box = readonly [number, number, number, number];

/** A filled area and its colour; undefined where it has several, or one that is not known. */
export interface Area {
  box: Box;
  colour: string | undefined;
  /** It fills its box wholly and lets nothing through. */
  isRectangle: boolean;
  /** A picture may stand there. */
  isPicture?: boolean;
}

/** Where paint stays; `isExact`: all of the box, and no curve. */
export interface Clip {
  box: Box;
  isExact: boolean;
}

export const EVERYWHERE: Clip = { box: [-1e9, -1e9, 1e9, 1e9], isExact: true };

export function matrixOf(given: unknown): Matrix {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = Array.from(given as ArrayLike<number>, Number);
  return [a, b, c, d, e, f];
}

export function times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** The upright box around a rectangle of another system of coordinates. */
export function boxOf([left, bottom, right, top]: Box, matrix: Matrix): Box {
  const corners = [
    [left, bottom],
    [right, bottom],
    [left, top],
    [right, top],
  ].map(([x = 0, y = 0]) => times(matrix, [1, 0, 0, 1, x, y]));
  const [xs, ys] = [corners.map((corner) => corner[4]), corners.map((corner) => corner[5])];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

/** A point of the page in the frame of a baseline: how far along it, and how far above. */
export function inFrame(
  x: number,
  y: number,
  [cosine, sine]: readonly [number, number],
): readonly [x: number, y: number] {
  return [x * cosine + y * sine, y * cosine - x * sine];
}

function intersection([left, bottom, right, top]: Box, [x, y, endX, endY]: Box): Box {
  return [Math.max(left, x), Math.max(bottom, y), Math.min(right, endX), Math.min(top, endY)];
}

export function isEmpty([left, bottom, right, top]: Box): boolean {
  return left >= right || bottom >= top;
}

export function overlap([left, bottom, right, top]: Box, [x, y, endX, endY]: Box): boolean {
  return left < endX && right > x && bottom < endY && top > y;
}

/** By how much text may stick out of what lies behind it, in points. */
const STICKS_OUT = 1;

export function covers([left, bottom, right, top]: Box, [x, y, endX, endY]: Box): boolean {
  return (
    left <= x + STICKS_OUT &&
    right >= endX - STICKS_OUT &&
    bottom <= y + STICKS_OUT &&
    top >= endY - STICKS_OUT
  );
}

/** What is left of an area within a clip; undefined where nothing is. */
export function clipped(area: Area, clip: Clip): Area | undefined {
  const box = intersection(area.box, clip.box);
  return isEmpty(box) ? undefined : { ...area, box, isRectangle: area.isRectangle && clip.isExact };
}

/** The clip within another one that a path makes. */
export function narrowed(clip: Clip, parts: readonly { box: Box; isRectangle: boolean }[]): Clip {
  const [part, ...more] = parts;
  // An empty path lets nothing through, if it is meant at all.
  if (part === undefined) return clip;
  const all = more.reduce((sum, { box }) => union(sum, box), part.box);
  const box = intersection(clip.box, all);
  return { box, isExact: clip.isExact && part.isRectangle && more.length === 0 };
}

function union([left, bottom, right, top]: Box, [x, y, endX, endY]: Box): Box {
  return [Math.min(left, x), Math.min(bottom, y), Math.max(right, endX), Math.max(top, endY)];
}

/** How many numbers follow each command of a path: move, line, curve, quadratic curve, close. */
const COMMANDS: readonly number[] = [2, 2, 6, 4, 0];
const [MOVE, LINE, , , CLOSE] = [0, 1, 2, 3, 4];

/**
 * The parts of a path, each with its box on the page. A path of rectangles alone gives each of them; of any other all is one
 * part, since where it leaves holes is not known.
 */
export function partsOf(
  data: unknown,
  bounds: unknown,
  matrix: Matrix,
): { box: Box; isRectangle: boolean }[] {
  if (bounds === undefined || bounds === null) return [];
  const [left = 0, bottom = 0, right = 0, top = 0] = Array.from(bounds as ArrayLike<number>, Number);
  const whole = { box: boxOf([left, bottom, right, top], matrix), isRectangle: false };
  const isStraight = (one: number, other: number) => Math.abs(one) < 1e-6 && Math.abs(other) < 1e-6;
  if (!isStraight(matrix[1], matrix[2]) && !isStraight(matrix[0], matrix[3])) return [whole];
  const numbers = Array.from((data ?? []) as ArrayLike<number>, Number);
  if (numbers.length > LONGEST_PATH) return [whole];
  const rectangles: Box[] = [];
  let points: [number, number][] = [];
  const end = () => {
    if (points.length < 2) return true;
    const rectangle = rectangleOf(points);
    if (rectangle !== undefined) rectangles.push(rectangle);
    points = [];
    return rectangle !== undefined;
  };
  for (let at = 0; at < numbers.length; ) {
    const command = numbers[at] ?? -1;
    const length = COMMANDS[command];
    if (length === undefined || length > 2) return [whole];
    if (command === MOVE || command === CLOSE) {
      if (!end()) return [whole];
    }
    if (command === MOVE || command === LINE) points.push([numbers[at + 1] ?? 0, numbers[at + 2] ?? 0]);
    at += 1 + length;
  }
  if (!end() || rectangles.length === 0) return [whole];
  return rectangles.map((box) => ({ box: boxOf(box, matrix), isRectangle: true }));
}

/** Numbers of a path that is looked at closely. */
const LONGEST_PATH = 13 * 200;

/** Four corners, each beside or below the one before. */
function rectangleOf(points: readonly (readonly [number, number])[]): Box | undefined {
  const [first, second, third, fourth, ...more] = points;
  if (first === undefined || second === undefined || third === undefined || fourth === undefined)
    return undefined;
  if (more.some(([x, y]) => x !== first[0] || y !== first[1]) || more.length > 1) return undefined;
  const isRound =
    first[0] === second[0]
      ? second[1] === third[1] && third[0] === fourth[0] && fourth[1] === first[1]
      : first[1] === second[1] && second[0] === third[0] && third[1] === fourth[1] && fourth[0] === first[0];
  if (!isRound) return undefined;
  const [xs, ys] = [
    [first[0], third[0]],
    [first[1], third[1]],
  ];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}
