import type { Span } from '../text/sentences.ts';
import { isUnspaced } from '../text/words.ts';
import { type CheckedDocument, ROUNDED } from './document.ts';
import { comparedTokens } from './quantities.ts';
import { type Comparison, readQuantities } from './quantity-comparison.ts';
import type { Notation } from './quantity-words.ts';
import { type Figure, readingsOf, type Statement, statementOf, tokensOf } from './statement.ts';
import { cellsOf, isTableHead, isTableRow } from './table-units.ts';

/** A row of a table of the page, below its head. */
interface TableRow {
  /** The heads of its table and its first cell, as they are compared. */
  heads: readonly string[];
  name: string;
  cells: readonly string[];
  /** The words of its first cell. */
  subject: readonly string[];
  /** The numbers of its other cells. */
  values: ReadonlySet<number>;
  span: Span;
}

interface Tables {
  rows: readonly TableRow[];
  /** The numbers that stand in sentences, or in heads of tables. */
  elsewhere: ReadonlySet<number>;
}

/**
 * What the tables of the page say of a cell, given as "row — column: value": the same, or another figure. Undefined where
 * they have no such cell or something else stands in it, which a judge must read.
 */
export function readCell(
  statement: string,
  document: CheckedDocument,
): { reading: 'same' | 'figure'; span: Span } | undefined {
  const [, row = '', column = '', value = ''] = /^(.+?) — (.+?): (.+)$/s.exec(statement) ?? [];
  const [wantedRow, wantedColumn, wanted] = [plain(row), plain(column), plain(value)];
  if (wantedRow === '' || wanted === '') return undefined;
  const found = tablesOf(document).rows.flatMap(({ name, heads, cells, span }) =>
    name === wantedRow
      ? heads.flatMap((head, at) =>
          at > 0 && head === wantedColumn ? [{ cell: cells[at] ?? '', span }] : [],
        )
      : [],
  );
  const { notation } = document;
  const readings = found.map(({ cell, span }) => ({
    reading: compareCells(value, cell, notation),
    cell,
    span,
  }));
  const same = readings.find(({ cell, reading }) => plain(cell) === wanted || reading === 'same');
  if (same !== undefined) return { reading: 'same', span: same.span };
  const [other] = readings;
  const isOther =
    found.length > 0 &&
    readings.every(({ cell, reading }) => isOtherFigure(value, cell) || reading === 'other');
  return isOther && other !== undefined ? { reading: 'figure', span: other.span } : undefined;
}

/** Of cells that have nothing but a number and its unit. */
function compareCells(value: string, cell: string, notation: Notation): Comparison | undefined {
  if (![value, cell].every((text) => /^[\p{L}\p{M}\p{Nd}\s.,'’°%²³-]+$/u.test(text) && !/^[.,-]/.test(text)))
    return undefined;
  const [own = [], theirs = []] = [value, cell].map((text) => comparedTokens(statementOf(text), notation));
  const haveUnits = [own, theirs].every(([first]) => (first?.quantity?.measures.length ?? 0) > 0);
  return haveUnits ? readQuantities(own, theirs) : undefined;
}

/** Whether a cell of the report is the page's but for its one number, which is not that of the page rounded. */
function isOtherFigure(own: string, cell: string): boolean {
  const [figure, ...more] = statementOf(own).figures;
  const [exact, ...others] = statementOf(cell).figures;
  if (figure === undefined || exact === undefined || more.length + others.length > 0) return false;
  const isAlike = figure.values.some((value) =>
    exact.values.some((each) => value === each || (!exact.isYear && isRounded(value, each))),
  );
  return !isAlike && plain(own, false) === plain(cell, false);
}

function isRounded(value: number, exact: number): boolean {
  return Math.abs(exact - value) <= Math.abs(value) * ROUNDED && digitsOf(value) < digitsOf(exact);
}

/** Digits that count: three of 48.2, two of 4800. */
function digitsOf(value: number): number {
  return String(value)
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '').length;
}

const DASHES = /[‐‑‒–—―−]/g;
/** What is no letter, digit, space, full stop or comma: "−28" and ".28" are not "28", "5 %" is not "5", and "✓" not "✗". */
const SIGN = /([^\p{L}\p{M}\p{Nd}〇\s.,'’٫٬]|(?<!\p{Nd})[.,](?=\p{Nd}))/u;

/** The words, numbers and signs of a cell in their order, as they are compared. */
function plain(text: string, withNumbers = true): string {
  return text
    .replace(/\*\*|__|`/g, '')
    .replace(DASHES, '-')
    .split(SIGN)
    .flatMap((part, place) => (place % 2 === 1 ? [part] : plainTokens(part, withNumbers)))
    .join(' ');
}

function plainTokens(text: string, withNumbers: boolean): string[] {
  return tokensOf(text).flatMap(({ kind, lower }) =>
    kind === 'word' || (kind === 'number' && withNumbers) ? [lower] : [],
  );
}

/** Smaller ones are often written as words. */
const LEAST = 10;

/**
 * A figure that the page has only in rows of a table that the claim does not name, while the claim says it of a row of the
 * same table. A row counts as named also by another of its figures.
 */
export function figureOfAnotherRow(claim: Statement, document: CheckedDocument): string | undefined {
  const { rows, elsewhere } = tablesOf(document);
  if (rows.length === 0) return undefined;
  const isOf = (figure: Figure, { values }: TableRow) => figure.values.some((value) => values.has(value));
  return claim.figures.find((figure) => {
    if (figure.values.some((value) => value < LEAST || elsewhere.has(value))) return false;
    const having = rows.filter((row) => isOf(figure, row));
    const named = rows.filter(({ subject }) => {
      const place = placeOf(subject, claim);
      return place >= 0 && place < figure.at;
    });
    const isNamed = (row: TableRow) =>
      placeOf(row.subject, claim) >= 0 || claim.figures.some((other) => other !== figure && isOf(other, row));
    return (
      having.length > 0 &&
      !having.some(isNamed) &&
      named.some(({ heads }) => having.some((row) => row.heads === heads))
    );
  })?.text;
}

/** Where the words stand in the claim, one behind the other; -1 where they do not. */
function placeOf(words: readonly string[], { tokens }: Statement): number {
  return tokens.findIndex((_, at) => words.every((word, index) => tokens[at + index]?.lower === word));
}

const known = new WeakMap<CheckedDocument, Tables>();

function tablesOf(document: CheckedDocument): Tables {
  const tables = known.get(document) ?? readTables(document);
  known.set(document, tables);
  return tables;
}

function readTables({ text, sentences, title }: CheckedDocument): Tables {
  const rows: TableRow[] = [];
  const elsewhere = new Set(
    tokensOf(title).flatMap(({ kind, text: written }) => (kind === 'number' ? readingsOf(written) : [])),
  );
  let heads: readonly string[] | undefined;
  for (const [index, { span, statement }] of sentences.entries()) {
    const isRow = isTableRow(span);
    const isHead = isTableHead(span, text, sentences[index + 1]?.span);
    if (!isRow) heads = undefined;
    if (isHead) heads = cellsOf(span.text).map((cell) => plain(cell));
    if (!isRow || isHead || heads === undefined) {
      for (const { values } of statement.figures) for (const value of values) elsewhere.add(value);
      continue;
    }
    const cells = cellsOf(span.text);
    const subject = tokensOf(cells[0] ?? '').map(({ lower }) => lower);
    const values = statement.figures.flatMap((figure) => (figure.at >= subject.length ? figure.values : []));
    const name = plain(cells[0] ?? '');
    if (isTelling(subject)) rows.push({ heads, name, cells, subject, values: new Set(values), span });
    else for (const value of values) elsewhere.add(value);
  }
  return { rows, elsewhere };
}

/** Whether words name a row; "1" and "a" stand in many sentences. */
function isTelling(subject: readonly string[]): boolean {
  return subject.some((word) => /^\p{L}/u.test(word) && (word.length >= 3 || isUnspaced(word)));
}
