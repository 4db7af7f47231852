import { type Group, type Row, type Section, sectionsOf, wrapText } from './help.ts';
import type { OptionTable } from './option.ts';

const WIDTH = 100;

/** The text of `.env.example`: secrets blank, defaults commented out, shared variables once. */
export function environmentExample(tables: readonly OptionTable[]): string {
  const opening = comment(
    'Settings of Trunkline. Copy this file to .env and fill in what you need: a blank value is unset.',
  );
  return `${[...opening, ...sectionsOf(tables).flatMap(sectionLines)].join('\n')}\n`;
}

function sectionLines({ title, groups }: Section): string[] {
  const lines = groups.flatMap(groupLines);
  const rule = `# ${`== ${title} `.padEnd(WIDTH - 2, '=')}`;
  return lines.length === 0 ? [] : ['', rule, ...lines];
}

function groupLines({ heading, rows }: Group): string[] {
  const lines = rows.filter(({ names }) => names.length > 0).flatMap(rowLines);
  if (lines.length === 0) return [];
  return heading === '' ? lines : ['', `# -- ${heading}`, ...lines];
}

function rowLines(row: Row): string[] {
  const [name, ...others] = row.names;
  const also = others.length === 0 ? '' : `Also read from ${others.join(', ')}.`;
  const otherwise = row.defaultText === undefined && row.fallback ? `Default: ${row.fallback}.` : '';
  const told = [row.doc, row.expected === 'text' ? '' : `Expected: ${row.expected}.`, otherwise, also]
    .filter(Boolean)
    .join(' ');
  const assignment = row.secret ? `${name}=` : `# ${name}=${quoted(row.defaultText ?? '')}`;
  return ['', ...comment(told), assignment];
}

function comment(text: string): string[] {
  return wrapText(text, WIDTH - 2).map((line) => `# ${line}`);
}

// So that reading the line gives the same text again.
function quoted(text: string): string {
  if (/^[\w./:~,@%+*?&=|-]*$/.test(text)) return text;
  return text.includes("'") ? `"${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"` : `'${text}'`;
}
