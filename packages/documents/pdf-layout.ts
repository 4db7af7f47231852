import type { Piece } from './document.ts';
import { markdownTables } from './table.ts';

/** A run of characters and where it stands on its page, from the lower left corner. */
export interface Run {
  text: string;
  x: number;
  y: number;
  width: number;
  size: number;
}

/** The blocks of a page from its runs, column after column. */
export function readPage(runs: readonly Run[]): Piece[] {
  if (runs.length === 0) return [];
  return regionsOf(linesOf(runs)).flatMap(piecesOf);
}

/** A line is made of segments, with gaps between them that are wider than those between words. */
interface Line {
  y: number;
  size: number;
  segments: Segment[];
}
interface Segment {
  text: string;
  left: number;
  right: number;
}

function linesOf(runs: readonly Run[]): Line[] {
  const sorted = runs.toSorted((one, other) => other.y - one.y || one.x - other.x);
  const rows: Run[][] = [];
  for (const run of sorted) {
    const row = rows.at(-1);
    const [opening] = row ?? [];
    if (
      row !== undefined &&
      opening !== undefined &&
      Math.abs(opening.y - run.y) < Math.max(2, Math.min(opening.size, run.size) * 0.45)
    )
      row.push(run);
    else rows.push([run]);
  }
  return rows.map((row) => {
    const size = row.reduce((largest, run) => Math.max(largest, run.size), 0);
    return {
      y: row[0]?.y ?? 0,
      size,
      segments: segmentsOf(
        row.toSorted((one, other) => one.x - other.x),
        size,
      ),
    };
  });
}

function segmentsOf(row: readonly Run[], size: number): Segment[] {
  const segments: Segment[] = [];
  for (const { text, x, width } of row) {
    const last = segments.at(-1);
    const gap = last === undefined ? Number.POSITIVE_INFINITY : x - last.right;
    if (last === undefined || gap > size * 1.1) segments.push({ text, left: x, right: x + width });
    else {
      const needsSpace = gap > size * 0.15 && !last.text.endsWith(' ') && !text.startsWith(' ');
      last.text += `${needsSpace ? ' ' : ''}${text}`;
      last.right = Math.max(last.right, x + width);
    }
  }
  return segments;
}

const MOST_LINES = 1000;
const MOST_GUTTERS = 100;
const LINES_OF_A_COLUMN = 4;
/** Columns of prose have long lines; the cells of a table are short. */
const CHARACTERS_OF_A_COLUMN = 18;

/** Lines in reading order: runs of lines that have the same gutters are read column by column. */
function regionsOf(lines: readonly Line[]): Line[][] {
  // No page that people read has more; looking for gutters takes the square of it.
  if (lines.length > MOST_LINES) return [[...lines]];
  const regions: Line[][] = [];
  let from = 0;
  while (from < lines.length) {
    const found = columnsFrom(lines, from);
    if (found === undefined) {
      const last = regions.at(-1);
      const line = lines[from] as Line;
      if (last !== undefined && last.at(-1) === lines[from - 1]) last.push(line);
      else regions.push([line]);
      from += 1;
    } else {
      regions.push(...found.columns);
      from = found.end;
    }
  }
  return regions;
}

/** The columns of prose that begin at a line, and the line after them. */
function columnsFrom(lines: readonly Line[], from: number): { columns: Line[][]; end: number } | undefined {
  const gutter = gutterOf(lines, from);
  if (gutter === undefined) return undefined;
  const { at, end } = gutter;
  const side = (isLeft: boolean) =>
    lines
      .slice(from, end)
      .map((line) => ({
        ...line,
        segments: line.segments.filter(({ left, right }) => (isLeft ? right <= at : left >= at)),
      }))
      .filter(({ segments }) => segments.length > 0);
  const sides = [side(true), side(false)];
  const isProse = sides.every((column) => {
    const lengths = column
      .flatMap(({ segments }) => segments.map(({ text }) => text.length))
      .sort((one, other) => one - other);
    return (
      column.length >= LINES_OF_A_COLUMN && (lengths[lengths.length >> 1] ?? 0) >= CHARACTERS_OF_A_COLUMN
    );
  });
  return isProse ? { columns: sides.flatMap(regionsOf), end } : undefined;
}

/** A place that no segment crosses, left of it and right of it text, for as many lines from here as possible. */
function gutterOf(lines: readonly Line[], from: number): { at: number; end: number } | undefined {
  let best: { at: number; end: number; pairs: number } | undefined;
  const starts = new Set<number>();
  for (let index = from; index < Math.min(lines.length, from + 6); index += 1)
    for (const { left } of lines[index]?.segments.slice(1) ?? []) starts.add(Math.round(left) - 1);
  for (const at of [...starts].slice(0, MOST_GUTTERS)) {
    let end = from;
    let pairs = 0;
    while (end < lines.length && lines[end]?.segments.every(({ left, right }) => right <= at || left >= at)) {
      const segments = lines[end]?.segments ?? [];
      if (segments.some(({ right }) => right <= at) && segments.some(({ left }) => left >= at)) pairs += 1;
      end += 1;
    }
    if (pairs >= LINES_OF_A_COLUMN && (best === undefined || pairs > best.pairs)) best = { at, end, pairs };
  }
  return best;
}

/** Paragraphs, headings and tables of lines that stand below each other. */
function piecesOf(lines: readonly Line[]): Piece[] {
  const pieces: Piece[] = [];
  const sizes = lines.map(({ size }) => size).sort((one, other) => one - other);
  const usual = sizes[sizes.length >> 1] ?? 10;
  let paragraph = '';
  const flush = () => {
    const text = paragraph.replace(/\s+/g, ' ').trim();
    if (text !== '') pieces.push({ kind: 'paragraph', region: 'main', text });
    paragraph = '';
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as Line;
    const end = tableEnd(lines, at);
    if (end - at >= 2) {
      flush();
      for (const text of markdownTables(cellsOf(lines.slice(at, end))))
        pieces.push({ kind: 'table', region: 'main', text });
      at = end - 1;
      continue;
    }
    const text = line.segments.map((segment) => segment.text).join(' ');
    const before = lines[at - 1];
    const isApart = before !== undefined && before.y - line.y > Math.max(before.size, line.size) * 1.75;
    if (
      isApart ||
      /^\s*(?:[•▪◦‣]|\d{1,2}[.)]\s)/.test(text) ||
      (before && Math.abs(before.size - line.size) > 1)
    )
      flush();
    if (line.size > usual * 1.2 && text.length < 120) {
      flush();
      pieces.push({
        kind: 'heading',
        region: 'main',
        text: `## ${text.replace(/\s+/g, ' ').trim()}`,
        level: 2,
      });
    } else paragraph = joinLines(paragraph, text);
  }
  flush();
  return pieces;
}

/** Lines of one paragraph; a word that was divided at the line's end is put together. */
export function joinLines(text: string, next: string): string {
  if (text === '') return next;
  if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(next)) return `${text.slice(0, -1)}${next}`;
  return /[\u3040-\u30ff\u4e00-\u9fff]$/.test(text) ? `${text}${next}` : `${text} ${next}`;
}

/** Where a table ends that begins at a line: lines of several segments that stand in the same columns. */
function tableEnd(lines: readonly Line[], at: number): number {
  const head = lines[at]?.segments ?? [];
  if (head.length < 2) return at;
  let end = at + 1;
  while (end < lines.length) {
    const segments = lines[end]?.segments ?? [];
    const isRow =
      segments.length >= 2 && segments.every((segment) => head.some((column) => overlaps(column, segment)));
    if (!isRow) break;
    end += 1;
  }
  return end;
}

function overlaps(column: Segment, cell: Segment): boolean {
  return cell.left < column.right + 12 && column.left < cell.right + 12;
}

/** The cells of a table, below the segments of its first line. */
function cellsOf(lines: readonly Line[]): string[][] {
  const columns = lines.reduce(
    (widest, { segments }) => (segments.length > widest.length ? segments : widest),
    [] as Segment[],
  );
  const middle = ({ left, right }: Segment) => (left + right) / 2;
  const distance = (column: Segment, cell: Segment) =>
    Math.min(
      Math.abs(column.left - cell.left),
      Math.abs(column.right - cell.right),
      Math.abs(middle(column) - middle(cell)),
    );
  return lines.map(({ segments }) => {
    const row = columns.map(() => '');
    for (const cell of segments) {
      const place = columns.reduce(
        (best, column, index) =>
          distance(column, cell) < distance(columns[best] as Segment, cell) ? index : best,
        0,
      );
      row[place] = `${row[place]} ${cell.text}`.trim();
    }
    return row;
  });
}
