import type { Option, OptionTable } from './option.ts';

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

/** One setting as help shows it: merged where several services use it. */
export type Row = {
  readonly names: readonly string[];
  readonly flag: string | undefined;
  readonly placeholder: string;
  readonly toggle: boolean;
  readonly expected: string;
  readonly doc: string;
  readonly secret: boolean;
  /** Told to people; may be a sentence. */
  readonly fallback: string | undefined;
  /** Can be written into the environment. */
  readonly defaultText: string | undefined;
};

/** Rows under a heading, which is empty for those that have none. */
export type Group = { readonly heading: string; readonly rows: readonly Row[] };

export type Section = { readonly title: string; readonly groups: readonly Group[] };

type Use = { readonly title: string; readonly option: Option<unknown> };

/** Sorts the options of several services: first those that more than one uses, then each service's own. */
export function sectionsOf(tables: readonly OptionTable[]): Section[] {
  const uses = usesByName(tables);
  const shared = [...uses.values()].filter((found) => found.length > 1);
  const own = tables.map((table) => ({
    title: table.title,
    groups: groupsOf(
      [...uses.values()].filter((found) => found.length === 1 && found[0]?.title === table.title),
    ),
  }));
  return [{ title: 'Shared', groups: groupsOf(shared) }, ...own].filter(({ groups }) => groups.length > 0);
}

function usesByName(tables: readonly OptionTable[]): Map<string, Use[]> {
  const uses = new Map<string, Use[]>();
  for (const { title, service, options, isCommand } of tables) {
    for (const option of Object.values(options)) {
      const name = option.env[0] ?? `${service} ${option.flag}`;
      const [reader, ...others] = isCommand ? tables.filter((table) => isReadBy(table, name)) : [];
      const owner = others.length === 0 ? reader : undefined;
      const before = uses.get(name) ?? [];
      const isTold = before.length > 0 || isFirstIn(owner, name);
      uses.set(name, owner && isTold ? before : [...before, { title: owner?.title ?? title, option }]);
    }
  }
  return uses;
}

function isReadBy({ options, isCommand }: OptionTable, name: string): boolean {
  return !isCommand && Object.values(options).some(({ env }) => env.includes(name));
}

/** Whether the table has a line of its own for the variable. */
function isFirstIn(table: OptionTable | undefined, name: string): boolean {
  return Object.values(table?.options ?? {}).some(({ env }) => env[0] === name);
}

/** Options without a heading, which would seem to belong to another one; then what people set first. */
const leading = ['', 'Model'];

function groupsOf(uses: readonly Use[][]): Group[] {
  const groups = Map.groupBy(uses, (found) => found[0]?.option.heading ?? '');
  const rank = (heading: string) => (leading.indexOf(heading) + leading.length + 1) % (leading.length + 1);
  const headings = [...groups.keys()].sort((left, right) => rank(left) - rank(right));
  return headings.map((heading) => ({ heading, rows: (groups.get(heading) ?? []).map(rowOf) }));
}

function rowOf(uses: readonly Use[]): Row {
  const options = uses.map(({ option }) => option);
  const flagged = options.find(({ flag }) => flag !== undefined);
  return {
    names: [...new Set(options.flatMap(({ env }) => env))],
    flag: flagged?.flag,
    placeholder: flagged?.placeholder ?? '',
    toggle: flagged?.toggle ?? false,
    expected: merged(uses, ({ expected }) => (expected === 'text' ? undefined : expected)) ?? 'text',
    doc: merged(uses, ({ doc }) => doc) ?? '',
    secret: options.some(({ secret }) => secret),
    fallback: merged(uses, fallbackOf),
    defaultText: agreed(options.map((option) => (option.secret ? undefined : option.defaultText))),
  };
}

function fallbackOf({ secret, defaultText, defaultDoc }: Option<unknown>): string | undefined {
  return defaultDoc ?? (secret ? undefined : defaultText);
}

function agreed(texts: readonly (string | undefined)[]): string | undefined {
  return new Set(texts).size === 1 ? texts[0] : undefined;
}

/** The text that all services share; where they say different things, each says its own. */
function merged(
  uses: readonly Use[],
  part: (option: Option<unknown>) => string | undefined,
): string | undefined {
  const texts = uses.map(({ option }) => part(option));
  const said = new Set(texts.filter(Boolean));
  if (said.size <= 1) return [...said][0] ?? texts[0];
  const name = (title: string) => title.split(':', 1)[0];
  return uses
    .flatMap(({ title }, index) => (texts[index] ? `${name(title)}: ${texts[index]}` : []))
    .join(' / ');
}

/** Breaks a text into lines of at most `width` characters; a word that is longer stands alone. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return line === '' ? lines : [...lines, line];
}
