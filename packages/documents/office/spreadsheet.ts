import { type Archive, openArchive } from '../archive.ts';
import { PROTECTED } from '../damage.ts';
import { ExtractionError, type Piece } from '../document.ts';
import { descendants, type Element, parseTree, textContent } from '../html/tree.ts';
import { markdownTables } from '../table.ts';
import { dropUnseen } from './open-seen.ts';

const MOST_SHEETS = 200;
const MOST_CELLS = 400_000;

/** What sheets hold. */
interface Sheets {
  pieces: Piece[];
  isWhole: boolean;
  /** Characters in sheets, rows, columns and cells that are hidden. */
  hidden: number;
}

/** The sheets of an .xlsx file, each a heading and a table, then the labels of what is drawn on them. */
export async function xlsxPieces(bytes: Uint8Array): Promise<Sheets> {
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
  const formats = cellFormats(await optional('xl/styles.xml'));
  const targets = new Map(
    childrenOf(await optional('xl/_rels/workbook.xml.rels'), 'Relationship').map(({ attribs }) => [
      attribs.Id,
      attribs.Target,
    ]),
  );
  const workbook = await xml('xl/workbook.xml');
  const isOff = ({ attribs }: Element) => attribs.state === 'hidden' || attribs.state === 'veryHidden';
  const all = childrenOf(workbook, 'sheet');
  const is1904 = childrenOf(workbook, 'workbookPr').some(({ attribs }) => isOn(attribs.date1904));
  const book = { shared, formats, dayZero: is1904 ? DAY_ZERO_1904 : DAY_ZERO };
  const pieces: Piece[] = [];
  let [left, hidden] = [MOST_CELLS, 0];
  // Of the cells that may be read none is lost to sheets that nobody sees.
  for (const sheet of [...all.filter((each) => !isOff(each)), ...all.filter(isOff)].slice(0, MOST_SHEETS)) {
    const [, relation] = Object.entries(sheet.attribs).find(([name]) => name.endsWith(':id')) ?? [];
    const target = targets.get(relation) ?? '';
    const path = target.startsWith('/') ? target.slice(1) : `xl/${target}`;
    if (!archive.exists(path)) continue;
    const read = sheetRows(await xml(path), book, left);
    left -= read.cells;
    hidden += read.hidden;
    if (isOff(sheet)) hidden += read.rows.flat().reduce((sum, text) => sum + text.length, 0);
    else pieces.push(...sheetPieces(sheet.attribs.name ?? '', read.rows));
  }
  for (const name of archive.names().filter((each) => DRAWN.test(each)))
    for (const label of childrenOf(await xml(name), 'p').map(labelOf))
      if (label !== '') pieces.push({ kind: 'caption', region: 'side', text: label });
  return { pieces, isWhole: left > 0 && all.length <= MOST_SHEETS, hidden };
}

const DRAWN = /^xl\/(?:drawings\/drawing|charts\/chart)\d+\.xml$/;

function labelOf(paragraph: Element): string {
  return childrenOf(paragraph, 't').map(textContent).join('').replace(/\s+/g, ' ').trim();
}

/** The cells of a sheet, without those that are hidden: a row, a column, or a number by its format. */
function sheetRows(
  sheet: Element,
  book: Workbook,
  most: number,
): { rows: string[][]; cells: number; hidden: number } {
  const filtered = childrenOf(sheet, 'autoFilter')[0]?.attribs.ref ?? '';
  const [from = 0, to = 0] = (filtered.match(/\d+/g) ?? []).map(Number);
  const isOut = foldedColumns(sheet);
  const rows: string[][] = [];
  let [cells, hidden, place] = [0, 0, 0];
  for (const row of childrenOf(sheet, 'row')) {
    if (cells >= most) break;
    place = Number(row.attribs.r ?? place + 1);
    // A filter has a button by which its reader sees the others.
    const isUnseen = isFolded(row) && !(place > from && place <= to);
    const texts: string[] = [];
    for (const cell of elementsOf(row, 'c')) {
      const column = columnOf(cell.attribs.r ?? '', texts.length);
      while (texts.length < column) texts.push('');
      const text = cellText(cell, book);
      const isSeen = !isUnseen && !isOut[column] && book.formats[Number(cell.attribs.s ?? -1)] !== 'unseen';
      texts[column] = isSeen ? text : '';
      if (!isSeen) hidden += text.length;
      cells += 1;
    }
    rows.push(texts);
  }
  return { rows, cells, hidden };
}

/** For each column whether it is hidden. */
function foldedColumns(sheet: Element): boolean[] {
  // How many stretches of them begin and end there.
  const changes = Array.from({ length: MOST_COLUMNS + 2 }, () => 0);
  for (const { attribs } of childrenOf(sheet, 'col').filter(isFolded)) {
    const [from, to] = [Math.max(1, Math.trunc(Number(attribs.min))), Math.trunc(Number(attribs.max))];
    if (!(from <= to) || from > MOST_COLUMNS + 1) continue;
    changes[from - 1] = (changes[from - 1] ?? 0) + 1;
    if (to <= MOST_COLUMNS) changes[to] = (changes[to] ?? 0) - 1;
  }
  let open = 0;
  return changes.map((change) => {
    open += change;
    return open > 0;
  });
}

/** Hidden, or of no height or width; what a group folds away opens by its button. */
function isFolded({ attribs }: Element): boolean {
  const size = attribs.ht ?? attribs.width;
  return (
    (isOn(attribs.hidden) || (size !== undefined && Number(size) === 0)) && !Number(attribs.outlineLevel)
  );
}

function isOn(value: string | undefined): boolean {
  return /^(?:1|true|on)$/.test(value ?? '');
}

/** An OpenDocument with a password lists its parts with how they are encrypted. */
export async function refuseEncrypted(archive: Archive): Promise<void> {
  const list = 'META-INF/manifest.xml';
  if (archive.exists(list) && String(await archive.read(list, 'latin1')).includes('encryption-data'))
    throw new ExtractionError(PROTECTED);
}

/** The sheets of an .ods file. */
export async function odsPieces(bytes: Uint8Array): Promise<Sheets> {
  const archive = openArchive(bytes);
  await refuseEncrypted(archive);
  const { root } = parseTree(String(await archive.read('content.xml', 'utf-8')), { xml: true });
  const hidden = dropUnseen(root);
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
  return { pieces, isWhole: left > 0 && tables.length <= MOST_SHEETS, hidden };
}

const MOST_REPEATED = 50;

/** The cells of a row of an OpenDocument table; one that is repeated is there as often. */
export function openCells(row: Element): string[] {
  const cells: string[] = [];
  for (const cell of row.children) {
    if (typeof cell === 'string' || !/^table:(?:covered-)?table-cell$/.test(cell.name)) continue;
    const notes = new Set(childrenOf(cell, 'office:annotation').flatMap((note) => descendants(note)));
    const paragraphs = childrenOf(cell, 'text:p').filter((paragraph) => !notes.has(paragraph));
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
  const letters = /^[A-Z]{1,8}/.exec(reference)?.[0];
  const column =
    letters === undefined
      ? otherwise
      : [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
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
  if (format === undefined || format === 'unseen' || value === '') return value;
  if (format === 'percent') return `${Number((Number(value) * 100).toPrecision(12))}%`;
  if (format === 'duration') return durationText(Number(value));
  return dateText(Number(value), dayZero, format === 'time');
}

type NumberFormat = 'date' | 'time' | 'duration' | 'percent' | 'unseen' | undefined;
const BUILT_IN: ReadonlyMap<number, NumberFormat> = new Map([
  [9, 'percent'],
  [10, 'percent'],
  ...[14, 15, 16, 17, 22].map((id) => [id, 'date'] as const),
  ...[18, 19, 20, 21, 45, 47].map((id) => [id, 'time'] as const),
  [46, 'duration'],
]);

/** For each cell style whether its number is shown as a date, a time of day, a length of time or per cent, or not at all. */
function cellFormats(styles: Element | undefined): NumberFormat[] {
  const own = new Map(
    childrenOf(styles, 'numFmt').map(({ attribs }) => [Number(attribs.numFmtId), attribs.formatCode ?? '']),
  );
  const [list] = childrenOf(styles, 'cellXfs');
  return (list === undefined ? [] : elementsOf(list, 'xf')).map(({ attribs }) => {
    const id = Number(attribs.numFmtId);
    if (/^;;;?$/.test(own.get(id) ?? '')) return 'unseen';
    const written = (own.get(id) ?? '').replace(/"[^"]*"|\\./g, '');
    if (/\[(?:h+|m+|s+)\]/i.test(written)) return 'duration';
    const code = written.replace(/\[[^\]]*\]/g, '');
    if (/[ymdh]/i.test(code)) return /[yd]/i.test(code) || !/[hs]/i.test(code) ? 'date' : 'time';
    return code.includes('%') ? 'percent' : BUILT_IN.get(id);
  });
}

const DAY = 86_400_000;
const MOST_DAYS = 3_000_000;
/** Spreadsheets count days from the end of 1899, and those that began on an old Macintosh from 1904. */
const DAY_ZERO = Date.UTC(1899, 11, 30);
const DAY_ZERO_1904 = Date.UTC(1904, 0, 1);

function dateText(days: number, dayZero: number, isTime: boolean): string {
  if (!(days > 0 || (isTime && days === 0)) || days >= MOST_DAYS) return String(days);
  const [date = '', time = ''] = new Date(dayZero + Math.round(days * DAY)).toISOString().split('T');
  if (isTime || days < 1) return time.slice(0, time.slice(6, 8) === '00' ? 5 : 8);
  return Number.isInteger(days) ? date : `${date} ${time.slice(0, 5)}`;
}

/** Hours, minutes and seconds, however many hours there are. */
function durationText(days: number): string {
  if (!(Math.abs(days) < MOST_DAYS)) return String(days);
  const seconds = Math.round(Math.abs(days) * 86_400);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [hours = '', ...rest] = parts.map((part) => String(part).padStart(2, '0'));
  return `${days < 0 ? '-' : ''}${[Number(hours), ...rest].join(':')}`;
}
