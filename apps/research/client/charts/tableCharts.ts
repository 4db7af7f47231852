import type { Chart } from '@trunkline/std/chart';

/** An element or a text of rendered Markdown. */
interface TreeNode {
  type: string;
  tagName?: string;
  value?: string;
  properties?: { href?: unknown };
  children?: readonly TreeNode[];
}

interface TableCell {
  /** Without citation marks. */
  text: string;
  /** A mark says that it is not supported or was not checked. */
  isDoubtful: boolean;
}

const MOST_ROWS = 60;
const MOST_SERIES = 8;
const MOST_CHARTS = 4;

/** The rows of a table, the headings first. */
export function tableOf(table: TreeNode): TableCell[][] {
  return elementsOf(table, ['tr']).map((row) => elementsOf(row, ['th', 'td']).map(cellOf));
}

/** A chart for each unit that the columns of a table have, and how many of its figures are doubtful; none where they are no figures. */
export function chartsOf([heads = [], ...rows]: TableCell[][]): { charts: Chart[]; doubtful: number } {
  const columns = rows.length < 2 || rows.length > MOST_ROWS ? [] : figureColumns(heads, rows);
  const labels = rows.map(([first]) => first?.text ?? '');
  const type = labels.length > 2 && labels.every((label) => /^\d{4}\b/.test(label)) ? 'line' : 'bar';
  const subject = heads[0]?.text ?? '';
  const charts = [...Map.groupBy(columns, ({ unit }) => unit)].slice(0, MOST_CHARTS).map(([unit, all]) => {
    const series = all.slice(0, MOST_SERIES);
    const names = series.map(({ name }) => name).join(', ');
    const title = subject === '' ? names : `${names} by ${subject}`;
    return { chart: { type, title, labels, series, unit } as const, series };
  });
  const doubtful = charts.flatMap(({ series }) => series).reduce((sum, each) => sum + each.doubtful, 0);
  return { charts: charts.map(({ chart }) => chart), doubtful };
}

interface FigureColumn {
  name: string;
  unit: string;
  values: (number | null)[];
  doubtful: number;
}

/** The columns behind the first that hold figures of one unit; years are no figures. */
function figureColumns(heads: readonly TableCell[], rows: readonly TableCell[][]): FigureColumn[] {
  const cells = rows.flatMap((row) => row.slice(1).map(({ text }) => text));
  const point = usesDecimalComma(cells) ? ',' : '.';
  return heads.slice(1).flatMap(({ text: name }, at) => {
    const column = rows.map((row) => row[at + 1] ?? { text: '', isDoubtful: false });
    const figures = column.map(({ text }) => (isEmpty(text) ? null : figureOf(text, point)));
    const given = figures.filter((figure) => figure !== null);
    const [first] = given;
    if (first === undefined || given.length < 2) return [];
    if (given.some((figure) => figure === undefined || figure.unit !== first.unit)) return [];
    const values = figures.map((figure) => figure?.value ?? null);
    if (first.unit === '' && values.every((value) => value === null || isYear(value))) return [];
    const unit = first.unit === '' ? (/\(([^()\d]{1,12})\)\s*$/.exec(name)?.[1] ?? '') : first.unit;
    const doubtful = column.filter((cell, row) => cell.isDoubtful && values[row] !== null).length;
    return [{ name, unit, values, doubtful }];
  });
}

const isEmpty = (text: string) => /^(?:[-–—?]*|n\/?a\.?)$/i.test(text);
const isYear = (value: number) => Number.isInteger(value) && value >= 1000 && value <= 2100;

const ROUGHLY = /^(?:[~≈]|(?:about|around|approximately|roughly|approx\.?|ca\.?)\s)\s*/i;
/** What stands before a number, its sign, its digits, and what stands behind it. */
const FIGURE = /^([^\d+−-]{0,4})([+−-]?)(\d+(?:[.,'’\u00a0\u202f ]\d+)*)(\D{0,24})$/u;

/** "€1,200" or "240 megawatts"; undefined for texts that hold more or less than one number. */
function figureOf(text: string, point: '.' | ','): { value: number; unit: string } | undefined {
  const [, before = '', sign = '', digits, behind = ''] = FIGURE.exec(text.replace(ROUGHLY, '')) ?? [];
  if (digits === undefined) return undefined;
  const group = point === '.' ? ',' : '.';
  const plain = digits.replace(/['’\u00a0\u202f ](?=\d{3}(?!\d))/g, '');
  const [whole = '', fraction] = plain.split(point);
  const isNumber =
    plain.split(point).length <= 2 &&
    (/^\d+$/.test(whole) || new RegExp(`^\\d{1,3}(?:\\${group}\\d{3})+$`).test(whole)) &&
    (fraction === undefined || /^\d+$/.test(fraction));
  if (!isNumber) return undefined;
  const value = Number(`${whole.replaceAll(group, '')}.${fraction ?? '0'}`);
  const unit = [before.trim(), behind.trim()].filter(Boolean).join(' ');
  return { value: sign === '' || sign === '+' ? value : -value, unit };
}

/** "1,5" and "1.234.567" are written so where the comma divides; "1,500" is not. */
function usesDecimalComma(texts: readonly string[]): boolean {
  return texts.some((text) => /\d,(?!\d{3}(?!\d))\d|\d\.\d{3}[.,]\d/.test(text));
}

function elementsOf(node: TreeNode, names: readonly string[]): TreeNode[] {
  return (node.children ?? []).flatMap((child) =>
    names.includes(child.tagName ?? '') ? [child] : elementsOf(child, names),
  );
}

const MARKS = /\s*\[(?:\d{1,3}(\??)|(\?))\]/g;

function cellOf(cell: TreeNode): TableCell {
  const links = elementsOf(cell, ['a']).map(({ properties }) => String(properties?.href ?? ''));
  const text = textOf(cell);
  const isMarked = [...text.matchAll(MARKS)].some(([mark]) => mark.includes('?'));
  return {
    text: text.replace(MARKS, '').trim(),
    isDoubtful: isMarked || links.some((href) => href.startsWith('#doubt-')),
  };
}

/** Links of citations are left out. */
function textOf({ type, value = '', properties, children = [] }: TreeNode): string {
  if (type === 'text') return value;
  return /^#(?:claim|doubt|source)-/.test(String(properties?.href ?? ''))
    ? ''
    : children.map(textOf).join('');
}
