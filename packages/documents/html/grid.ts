import type { Facts } from './regions.ts';
import { type Element, textContent } from './tree.ts';

/** The cells of each row that a reader sees. */
export function rowsOf(table: Element, facts: ReadonlyMap<Element, Facts>): Element[][] {
  const rows: Element[][] = [];
  for (const child of table.children) {
    if (typeof child === 'string' || !facts.has(child)) continue;
    if (child.name === 'tr')
      rows.push(
        child.children
          .filter((cell) => typeof cell !== 'string')
          .filter((cell) => /^t[dh]$/.test(cell.name) && facts.has(cell)),
      );
    else if (/^(?:thead|tbody|tfoot)$/.test(child.name))
      for (const row of rowsOf(child, facts)) rows.push(row);
  }
  return rows.filter((row) => row.length > 0);
}

const LONG_CELL = 600;

/** A table that only places things: one that says so, or holds tables or long text, or a single column. */
export function isLayout(table: Element, rows: readonly Element[][]): boolean {
  if (/^(?:presentation|none)$/.test(table.attribs.role ?? '')) return true;
  const cells = rows.flat();
  if (cells.some(({ name }) => name === 'th')) return false;
  if (rows.length === 0 || rows.every(({ length }) => length < 2)) return true;
  return cells.some((cell) => hasPage(cell) || textContent(cell).trim().length > LONG_CELL);
}

/** Whether a cell holds a table or a heading, as the cells of data do not. */
function hasPage(node: Element): boolean {
  return node.children.some(
    (child) => typeof child !== 'string' && (/^(?:table|h[1-6])$/.test(child.name) || hasPage(child)),
  );
}

const MOST_SPAN = 50;
/** Characters that a table may gain by cells that span rows or columns. */
const MOST_REPEATED = 1_000_000;

/** The texts of cells with those that span rows or columns repeated, and the rows of a head of several made one. */
export function gridOf(rows: readonly Element[][], textOf: (cell: Element) => string): string[][] {
  const grid: string[][] = rows.map(() => []);
  let left = MOST_REPEATED;
  rows.forEach((row, at) => {
    let column = 0;
    for (const cell of row) {
      while (grid[at]?.[column] !== undefined) column += 1;
      const text = textOf(cell);
      const [across, down] = [spanOf(cell.attribs.colspan), spanOf(cell.attribs.rowspan)];
      const gained = (across * Math.min(down, rows.length - at) - 1) * text.length;
      const repeated = gained > left ? '' : text;
      left -= repeated === '' ? 0 : gained;
      for (let below = 0; below < down && at + below < rows.length; below += 1)
        for (let beside = 0; beside < across; beside += 1) {
          const line = grid[at + below];
          if (line !== undefined) line[column + beside] = below === 0 && beside === 0 ? text : repeated;
        }
      column += across;
    }
  });
  const filled = grid.map((line) => Array.from(line, (cell) => cell ?? ''));
  const heads = rows.findIndex((row) => !row.every(({ name }) => name === 'th'));
  if (heads < 2) return filled;
  const head = (filled[0] ?? []).map((_, column) =>
    [...new Set(filled.slice(0, heads).map((line) => line[column] ?? ''))].filter(Boolean).join(' / '),
  );
  return [head, ...filled.slice(heads)];
}

function spanOf(value: string | undefined): number {
  return Math.min(MOST_SPAN, Math.max(1, Number.parseInt(value ?? '1', 10) || 1));
}
