import { type Group, type Row, type Section, sectionsOf } from './help.ts';
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
