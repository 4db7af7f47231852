import type { Option } from './option.ts';
import { fallbackOf } from './sections.ts';
import type { OptionTable } from './table.ts';
import { wrapText } from './wrap.ts';

const WIDTH = 100;
const WIDEST_FLAG = 16;
const WIDEST_NAME = 26;
const GAP = 2;

type Line = { readonly flag: string; readonly names: string; readonly doc: string };

/** The text of `--help`: every flag and variable of the tables, in columns. */
export function helpText(command: string, tables: OptionTable | readonly OptionTable[]): string {
  const list = 'service' in tables ? [tables] : tables;
  const options = list.flatMap((table) => Object.values(table.options));
  const columns = columnsOf(options.map(lineOf));
  const parts = list.flatMap((table) => [table.title, ...groupLines(table, columns), '']);
  const usage = options.some(({ flag }) => flag !== undefined)
    ? `Usage: ${command} [flags]`
    : `Usage: ${command}`;
  return [usage, '', ...parts, ...wrapText(CLOSING, WIDTH), ''].join('\n');
}

const CLOSING =
  'A flag beats its variable. Of several variables the first that is set counts; a blank one is unset.';

function groupLines(table: OptionTable, columns: Columns): string[] {
  const groups = Map.groupBy(Object.values(table.options), ({ heading }) => heading ?? '');
  const headings = [...groups.keys()].sort((left, right) => Number(left !== '') - Number(right !== ''));
  return headings.flatMap((heading) => {
    const lines = (groups.get(heading) ?? []).flatMap((option) => render(lineOf(option), columns));
    return heading === '' ? lines : ['', `  ${heading}`, ...lines];
  });
}

function lineOf(option: Option<unknown>): Line {
  const flag = [option.flag, option.flag && option.placeholder].filter(Boolean).join(' ');
  return { flag, names: option.env.join(', '), doc: [option.doc, notes(option)].filter(Boolean).join(' ') };
}

function notes(option: Option<unknown>): string {
  const fallback = fallbackOf(option);
  const parts = [
    option.secret ? 'secret' : '',
    fallback === undefined || fallback === '' ? '' : `default: ${fallback}`,
  ];
  const told = parts.filter(Boolean).join('; ');
  return told === '' ? '' : `[${told}]`;
}

type Columns = { readonly flag: number; readonly names: number };

function columnsOf(lines: readonly Line[]): Columns {
  const widest = (texts: readonly string[], limit: number) =>
    Math.max(0, ...texts.map(({ length }) => length).filter((length) => length <= limit));
  return {
    flag: widest(
      lines.map(({ flag }) => flag),
      WIDEST_FLAG,
    ),
    names: widest(
      lines.map(({ names }) => names),
      WIDEST_NAME,
    ),
  };
}

// What is too wide for its column pushes the rest to the next line.
function render({ flag, names, doc }: Line, columns: Columns): string[] {
  const namesAt = 4 + (columns.flag === 0 ? 0 : columns.flag + GAP);
  const docAt = namesAt + (columns.names === 0 ? 0 : columns.names + GAP);
  const lines = ['    '];
  const put = (text: string, at: number) => {
    const last = lines.at(-1) ?? '';
    if (last.trim() !== '' && last.length + GAP > at) lines.push(' '.repeat(at) + text);
    else lines[lines.length - 1] = last.padEnd(at) + text;
  };
  if (flag !== '') put(flag, 4);
  if (names !== '') put(names, namesAt);
  wrapText(doc, WIDTH - docAt).forEach((line, index) => {
    if (index === 0) put(line, docAt);
    else lines.push(' '.repeat(docAt) + line);
  });
  return lines;
}
