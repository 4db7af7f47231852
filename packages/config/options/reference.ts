import { type Group, type Row, type Section, sectionsOf, wrapText } from './help.ts';
import type { OptionTable } from './option.ts';

/** The reference page of the settings, in Markdown. */
export function referencePage(tables: readonly OptionTable[]): string {
  const services = tables.map(({ title }) => title).join(', ');
  const opening = `Every variable and flag of ${services}. A flag beats its variable; a blank variable is unset.`;
  return `${['# Settings', '', opening, ...sectionsOf(tables).flatMap(sectionLines)].join('\n')}\n`;
}

function sectionLines({ title, groups }: Section): string[] {
  return ['', `## ${title}`, ...groups.flatMap(groupLines)];
}

function groupLines({ heading, rows }: Group): string[] {
  const head = ['| Variable | Flag | Default | Expected | Meaning |', '|---|---|---|---|---|'];
  return [...(heading === '' ? [] : ['', `### ${heading}`]), '', ...head, ...rows.map(rowLine)];
}

function rowLine(row: Row): string {
  const cells = [
    row.names.map(code).join(', then '),
    row.flag === undefined ? '' : code(row.flag),
    row.defaultText ? code(row.defaultText) : plain(row.fallback ?? ''),
    plain(row.expected),
    plain(row.secret ? `${row.doc} Secret.` : row.doc),
  ];
  return `| ${cells.join(' | ')} |`;
}

function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

function plain(text: string): string {
  return text.replace(/[|<*_]/g, '\\$&').replace(/\s+/g, ' ');
}

const WIDTH = 100;

const opening = [
  'Every setting of Trunkline. You need none of them to start.',
  'Copy this file to .env and change what you want: remove the # in front of a line and fill in the value. A blank value counts as not set. The value behind a # is the default.',
  `A variable of the environment wins over this file; a flag of the command line wins over both. Do not keep keys here in plain text: store them with "npx trunkline secret set NAME" and write \${secret:NAME}.`,
  'Most people set three: LLM_GATEWAY_URL, LLM_API_KEY and LLM_MODEL.',
];

/** The text of `.env.example`: secrets blank, defaults commented out, each variable once. */
export function environmentExample(tables: readonly OptionTable[]): string {
  const head = opening.flatMap((paragraph) => [...comment(paragraph), '#']).slice(0, -1);
  const sections = sectionsOf(tables);
  const rows = sections.flatMap(({ groups }) => groups.flatMap((group) => group.rows));
  const own = new Set(rows.flatMap(({ names: [name = ''] }) => name));
  return `${[...head, ...sections.flatMap((section) => exampleSection(section, own))].join('\n')}\n`;
}

/** `own`: variables that have a line of their own. */
function exampleSection({ title, groups }: Section, own: ReadonlySet<string>): string[] {
  const lines = groups.flatMap((group) => exampleGroup(group, own));
  const rule = `# ${`== ${title} `.padEnd(WIDTH - 2, '=')}`;
  return lines.length === 0 ? [] : ['', rule, ...lines];
}

function exampleGroup({ heading, rows }: Group, own: ReadonlySet<string>): string[] {
  const lines = rows.filter(({ names }) => names.length > 0).flatMap((row) => exampleRow(row, own));
  if (lines.length === 0) return [];
  return heading === '' ? lines : ['', `# -- ${heading}`, ...lines];
}

function exampleRow(row: Row, own: ReadonlySet<string>): string[] {
  const [name] = row.names;
  const others = row.names.slice(1).filter((other) => !own.has(other));
  const also = others.length === 0 ? '' : `Also read from ${others.join(', ')}.`;
  const otherwise = row.defaultText === undefined && row.fallback ? `Default: ${row.fallback}.` : '';
  const facts = [valueText(row.expected), otherwise, also].filter(Boolean).join(' ');
  const assignment = row.secret ? `${name}=` : `# ${name}=${quoted(row.defaultText ?? '')}`;
  return ['', ...comment(row.doc), ...comment(facts), assignment];
}

/** What to write, where the name and the default do not show it already. */
function valueText(expected: string): string {
  const obvious =
    /^(text|an address that starts.*|the path of.*|a whole number( of at least [01]| from 0 to 65535)?)$/;
  if (obvious.test(expected)) return '';
  if (expected.startsWith('1, true')) return 'Value: 1 for yes, 0 for no.';
  return `Value: ${expected}.`;
}

function comment(text: string): string[] {
  return wrapText(text, WIDTH - 2).map((line) => `# ${line}`);
}

// So that reading the line gives the same text again.
function quoted(text: string): string {
  if (/^[\w./:~,@%+*?&=|-]*$/.test(text)) return text;
  return text.includes("'") ? `"${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"` : `'${text}'`;
}
