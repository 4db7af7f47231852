import { MOST_CHARACTERS } from './document.ts';

/** Rows after which a table's head is repeated, so that an excerpt of a long table still says what its columns are. */
const ROWS_OF_A_PIECE = 40;
/** A table with more columns is written as several, one after the other. */
const COLUMNS_OF_A_TABLE = 60;

/** A grid of cells as Markdown tables; the first row is the head. They end where they are longer than a text may be. */
export function markdownTables(rows: readonly (readonly string[])[]): string[] {
  const used = rows.filter((row) => row.some((cell) => cell !== ''));
  const [head, ...body] = used;
  if (head === undefined) return [];
  const columns = used.reduce((most, row) => Math.max(most, row.length), 0);
  const tables: string[] = [];
  let length = 0;
  for (let left = 0; left < columns; left += COLUMNS_OF_A_TABLE) {
    const width = Math.min(COLUMNS_OF_A_TABLE, columns - left);
    const line = (row: readonly string[]) => {
      const cells = Array.from({ length: width }, (_, column) => cellText(row[left + column] ?? ''));
      const text = `| ${cells.join(' | ')} |`;
      length += text.length;
      return text;
    };
    const opening = `${line(head)}\n|${' --- |'.repeat(width)}`;
    for (let from = 0; from === 0 || from < body.length; from += ROWS_OF_A_PIECE) {
      const lines = [opening];
      for (const row of body.slice(from, from + ROWS_OF_A_PIECE))
        if (length <= MOST_CHARACTERS) lines.push(line(row));
      tables.push(lines.join('\n'));
      if (length > MOST_CHARACTERS) return tables;
    }
  }
  return tables;
}

function cellText(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\|/g, '/').trim();
}

/** The rows of comma- or tab-separated values; fields in quotes may hold separators and line breaks. */
export function separatedValues(text: string, separator = separatorOf(text)): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  const endField = () => {
    row.push(field.trim());
    field = '';
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isQuoted) {
      if (character !== '"') field += character;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else isQuoted = false;
    } else if (character === '"' && (field === '' || (field.length < 50 && field.trim() === ''))) {
      isQuoted = true;
      field = '';
    } else if (character === separator) endField();
    else if (character === '\n' || character === '\r') {
      if (character === '\r' && text[at + 1] === '\n') at += 1;
      endField();
      rows.push(row);
      row = [];
    } else field += character;
  }
  endField();
  rows.push(row);
  return rows.filter((cells) => cells.some((cell) => cell !== ''));
}

const SAMPLED_LINES = 20;

/** The separator that most of the first lines have, equally often; a title above the table has none. */
function separatorOf(text: string): string {
  const lines = text
    .slice(0, 100_000)
    .split(/\r?\n/, SAMPLED_LINES)
    .filter((line) => line.trim() !== '');
  // Commas also stand inside figures, so they come last.
  const rated = [';', '\t', '|', ','].map((separator) => {
    const counts = lines
      .map((line) => line.replace(/"[^"]*"/g, '').split(separator).length - 1)
      .sort((one, other) => one - other);
    const median = counts[counts.length >> 1] ?? 0;
    const share = counts.filter((count) => count === median).length / counts.length;
    return { separator, rating: median === 0 ? 0 : share + median / 1000 };
  });
  const best = rated.reduce((most, each) => (each.rating > most.rating ? each : most));
  return best.rating === 0 ? ',' : best.separator;
}
