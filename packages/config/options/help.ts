import { type Group, type Row, type Section, sectionsOf } from './sections.ts';
import type { OptionTable } from './table.ts';
import { wrapText } from './wrap.ts';

const WIDTH = 100;
const WIDEST_FLAG = 16;
const WIDEST_NAME = 26;
const GAP = 2;

type Line = { readonly flag: string; readonly names: string; readonly doc: string };

/** The text of `--help`: every flag and variable of the tables, in columns. */
export function helpText(command: string, tables: OptionTable | readonly OptionTable[]): string {
  const sections = sectionsOf('service' in tables ? [tables] : tables);
  const rows = sections.flatMap(({ groups }) => groups.flatMap((group) => group.rows));
  const columns = columnsOf(rows.map(lineOf));
  const usage = rows.some(({ flag }) => flag !== undefined)
    ? `Usage: ${command} [flags]`
    : `Usage: ${command}`;
  const body = sections.flatMap((section) => [...sectionLines(section, columns), '']);
  return [usage, '', ...body, ...wrapText(closing(rows), WIDTH), ''].join('\n');
}

function closing(rows: readonly Row[]): string {
  const rule =
    'A flag beats its variable. Of several variables the first that is set counts; a blank one is unset.';
  const toggles = rows.some(({ flag, toggle }) => flag !== undefined && toggle);
  return toggles
    ? `${rule} A flag without a value turns something on; with --no- before its name it turns it off.`
    : rule;
}

function sectionLines({ title, groups }: Section, columns: Columns): string[] {
  return [title, ...groups.flatMap((group) => groupLines(group, columns))];
}

function groupLines({ heading, rows }: Group, columns: Columns): string[] {
  const lines = rows.flatMap((row) => render(lineOf(row), columns));
  return heading === '' ? lines : ['', `  ${heading}`, ...lines];
}

function lineOf({ flag, placeholder, names, doc, secret, fallback }: Row): Line {
  const notes = [secret ? 'secret' : '', fallback ? `default: ${fallback}` : ''].filter(Boolean).join('; ');
  return {
    flag: [flag, flag && placeholder].filter(Boolean).join(' '),
    names: names.join(', '),
    doc: notes === '' ? doc : `${doc} [${notes}]`,
  };
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
