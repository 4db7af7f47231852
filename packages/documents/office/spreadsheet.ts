import { openArchive } from '../archive.ts';
import { ExtractionError, type Piece } from '../document.ts';
import { descendants, type Element, parseTree, textContent } from '../html/tree.ts';
import { markdownTables } from '../table.ts';

const MOST_SHEETS = 200;
const MOST_CELLS = 400_000;

/** The sheets of an .xlsx file, each a heading and a table. */
export async function xlsxPieces(bytes: Uint8Array): Promise<{ pieces: Piece[]; isWhole: boolean }> {
  const archive = openArchive(bytes);
  const xml = async (name: string) =>
    withoutPrefixes(parseTree(String(await archive.read(name, 'utf-8')), { xml: true }).root);
  const optional = async (name: string) => (archive.exists(name) ? await xml(name) : undefined);
  const shared = childrenOf(await optional('xl/sharedStrings.xml'), 'si').map((item) =>
    descendants(item)
      .filter(({ name, parent }) => name === 't' && parent?.name !== 'rPh')
      .map(textContent)
      .join(''),
  );
  const formats = dateFormats(await optional('xl/styles.xml'));
  const targets = new Map(
    childrenOf(await optional('xl/_rels/workbook.xml.rels'), 'Relationship').map(({ attribs }) => [
      attribs.Id,
      attribs.Target,
    ]),
  );
  const workbook = await xml('xl/workbook.xml');
  const sheets = childrenOf(workbook, 'sheet').filter(
    ({ attribs }) => attribs.state !== 'hidden' && attribs.state !== 'veryHidden',
  );
  const is1904 = childrenOf(workbook, 'workbookPr').some(({ attribs }) =>
    /^(?:1|true|on)$/.test(attribs.date1904 ?? ''),
  );
  const dayZero = is1904 ? DAY_ZERO_1904 : DAY_ZERO;
  const pieces: Piece[] = [];
  let left = MOST_CELLS;
  for (const { attribs } of sheets.slice(0, MOST_SHEETS)) {
    const [, relation] = Object.entries(attribs).find(([name]) => name.endsWith(':id')) ?? [];
    const target = targets.get(relation) ?? '';
    const path = target.startsWith('/') ? target.slice(1) : `xl/${target}`;
    if (!archive.exists(path)) continue;
    const rows: string[][] = [];
    for (const row of childrenOf(await xml(path), 'row')) {
      if (left <= 0) break;
      const cells: string[] = [];
      for (const cell of elementsOf(row, 'c')) {
        const column = columnOf(cell.attribs.r ?? '', cells.length);
        while (cells.length < column) cells.push('');
        cells[column] = cellText(cell, { shared, formats, dayZero });
        left -= 1;
      }
      rows.push(cells);
    }
    pieces.push(...sheetPieces(attribs.name ?? '', rows));
  }
  return { pieces, isWhole: left > 0 && sheets.length <= MOST_SHEETS };
}

/** The sheets of an .ods file. */
export async function odsPieces(bytes: Uint8Array): Promise<{ pieces: Piece[]; isWhole: boolean }> {
  const { root } = parseTree(String(await openArchive(bytes).read('content.xml', 'utf-8')), { xml: true });
  const tables = childrenOf(root, 'table:table');
  let left = MOST_CELLS;
  const pieces = tables.slice(0, MOST_SHEETS).flatMap((table) => {
    const rows: string[][] = [];
    for (const row of descendants(table).filter(({ name }) => name === 'table:table-row')) {
      if (left <= 0) break;
      const cells = openCells(row);
      left -= cells.length;
      rows.push(cells);
    }
    return sheetPieces(table.attribs['table:name'] ?? '', rows);
  });
  return { pieces, isWhole: left > 0 && tables.length <= MOST_SHEETS };
}

const MOST_REPEATED = 50;

/** The cells of a row of an OpenDocument table; one that is repeated is there as often. */
export function openCells(row: Element): string[] {
  const cells: string[] = [];
  for (const cell of row.children) {
    if (typeof cell === 'string' || !/^table:(?:covered-)?table-cell$/.test(cell.name)) continue;
    const paragraphs = descendants(cell).filter(({ name }) => name === 'text:p');
    const text = paragraphs.map(openText).join(' ').trim();
    const times = Number(cell.attribs['table:number-columns-repeated'] ?? 1);
    for (let time = 0; time < Math.min(times, text === '' ? MOST_REPEATED : MOST_REPEATED * 4); time += 1)
      cells.push(text);
  }
  while (cells.at(-1) === '') cells.pop();
  return cells;
}

/** The text of an OpenDocument paragraph, without the notes that stand in it. */
export function openText(node: Element | string): string {
  if (typeof node === 'string') return node;
  if (node.name === 'text:s') return ' '.repeat(Math.min(20, Number(node.attribs['text:c'] ?? 1)));
  if (node.name === 'text:tab') return ' ';
  if (node.name === 'text:line-break') return '\n';
  if (node.name === 'text:note' || node.name === 'office:annotation') return '';
  return node.children.map(openText).join('');
}

function sheetPieces(name: string, rows: readonly string[][]): Piece[] {
  const tables = markdownTables(rows);
  if (tables.length === 0) return [];
  return [
    ...(name === '' ? [] : [{ kind: 'heading', region: 'main', text: `## ${name}`, level: 2 } as const]),
    ...tables.map((text) => ({ kind: 'table', region: 'main', text }) as const),
  ];
}

/** Some programs write `x:sheet` where others write `sheet`. */
function withoutPrefixes(root: Element): Element {
  for (const element of descendants(root)) element.name = element.name.replace(/^[^:]*:/, '');
  return root;
}

export function childrenOf(root: Element | undefined, name: string): Element[] {
  return root === undefined ? [] : descendants(root).filter((each) => each.name === name);
}

function elementsOf(element: Element, name: string): Element[] {
  return element.children.filter((child) => typeof child !== 'string').filter((child) => child.name === name);
}

const MOST_COLUMNS = 1000;

function columnOf(reference: string, otherwise: number): number {
  const letters = /^[A-Z]+/.exec(reference)?.[0];
  if (letters === undefined) return otherwise;
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
  if (column > MOST_COLUMNS)
    throw new ExtractionError(`has more than ${MOST_COLUMNS} columns. Save the part that matters as .csv`);
  return column;
}

interface Workbook {
  shared: readonly string[];
  /** By style. */
  formats: readonly NumberFormat[];
  /** Day 0 as milliseconds. */
  dayZero: number;
}

function cellText(cell: Element, { shared, formats, dayZero }: Workbook): string {
  const value = elementsOf(cell, 'v').map(textContent).join('');
  const { t: type, s: style } = cell.attribs;
  if (type === 's') return shared[Number(value)] ?? '';
  if (type === 'inlineStr') return childrenOf(cell, 't').map(textContent).join('');
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type !== undefined && type !== 'n') return value;
  const format = formats[Number(style ?? -1)];
  if (format === undefined || value === '') return value;
  if (format === 'percent') return `${Number((Number(value) * 100).toPrecision(12))}%`;
  if (format === 'duration') return durationText(Number(value));
  return dateText(Number(value), dayZero, format === 'time');
}

type NumberFormat = 'date' | 'time' | 'duration' | 'percent' | undefined;
const BUILT_IN: ReadonlyMap<number, NumberFormat> = new Map([
  [9, 'percent'],
  [10, 'percent'],
  ...[14, 15, 16, 17, 22].map((id) => [id, 'date'] as const),
  ...[18, 19, 20, 21, 45, 47].map((id) => [id, 'time'] as const),
  [46, 'duration'],
]);

/** For each cell style whether its number is shown as a date, a time of day, a length of time or per cent. */
function dateFormats(styles: Element | undefined): NumberFormat[] {
  const own = new Map(
    childrenOf(styles, 'numFmt').map(({ attribs }) => [Number(attribs.numFmtId), attribs.formatCode ?? '']),
  );
  const [list] = childrenOf(styles, 'cellXfs');
  return (list === undefined ? [] : elementsOf(list, 'xf')).map(({ attribs }) => {
    const id = Number(attribs.numFmtId);
    const written = (own.get(id) ?? '').replace(/"[^"]*"|\\./g, '');
    if (/\[(?:h+|m+|s+)\]/i.test(written)) return 'duration';
    const code = written.replace(/\[[^\]]*\]/g, '');
    if (/[ymdh]/i.test(code)) return /[yd]/i.test(code) || !/[hs]/i.test(code) ? 'date' : 'time';
    return code.includes('%') ? 'percent' : BUILT_IN.get(id);
  });
}

const DAY = 86_400_000;
/** Spreadsheets count days from the end of 1899, and those that began on an old Macintosh from 1904. */
const DAY_ZERO = Date.UTC(1899, 11, 30);
const DAY_ZERO_1904 = Date.UTC(1904, 0, 1);

function dateText(days: number, dayZero: number, isTime: boolean): string {
  if (!(days > 0 || (isTime && days === 0)) || days >= 3_000_000) return String(days);
  const [date = '', time = ''] = new Date(dayZero + Math.round(days * DAY)).toISOString().split('T');
  if (isTime || days < 1) return time.slice(0, time.slice(6, 8) === '00' ? 5 : 8);
  return Number.isInteger(days) ? date : `${date} ${time.slice(0, 5)}`;
}

/** Hours, minutes and seconds, however many hours there are. */
function durationText(days: number): string {
  const seconds = Math.round(Math.abs(days) * 86_400);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [hours = '', ...rest] = parts.map((part) => String(part).padStart(2, '0'));
  return `${days < 0 ? '-' : ''}${[Number(hours), ...rest].join(':')}`;
}
