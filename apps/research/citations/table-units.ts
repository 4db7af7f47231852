import type { Span } from '../text/sentences.ts';
import { scaleWords } from './rounding.ts';
import { measuresAt, percentLength } from './units.ts';

/**
 * The texts of sentences as they are compared: a number alone in a cell has the unit that the head of its column names, as in
 * "Height (m)" or "Share in %".
 */
export function textsWithUnits(spans: readonly Span[], text: string): string[] {
  let units: readonly string[] | undefined;
  return spans.map((span, index) => {
    if (!isTableRow(span)) {
      units = undefined;
      return span.text;
    }
    if (isTableHead(span, text, spans[index + 1])) {
      units = cellsOf(span.text).map(unitOfHead);
      return span.text;
    }
    if (units?.some((unit) => unit !== '') !== true) return span.text;
    const cells = cellsOf(span.text).map((cell, at) =>
      /^[-−+~≈]?\p{Nd}[\p{Nd}.,'’\s\u00A0\u2009\u202F]*$/u.test(cell) && units?.[at]
        ? `${cell} ${units[at]}`
        : cell,
    );
    return `| ${cells.join(' | ')} |`;
  });
}

export function isTableRow({ text }: Span): boolean {
  return text.startsWith('|') && text.endsWith('|');
}

/** Whether the line that divides the head of a table from its rows follows. */
export function isTableHead(span: Span, text: string, next: Span | undefined): boolean {
  return isTableRow(span) && /^\s*\|\s*:?-{2,}/.test(text.slice(span.end, next?.start));
}

/** The unit in brackets, behind a comma or as the last word; empty if none is known there. */
function unitOfHead(head: string): string {
  const [, inside, behind] = /[([]([^()[\]]+)[)\]]\s*$|(?:,\s*|\s)([^\s()[\]]+)$/u.exec(head) ?? [];
  const unit = (inside ?? behind ?? '').trim();
  const isApart = inside !== undefined || /(?:,\s*|\s(?:in|en)\s+)\S+$/u.test(head);
  return isUnit(unit, isApart || percentLength(unit, undefined) > 0) ? unit : '';
}

/** A letter alone, or a word such as "day", names a unit only where it is set apart. */
function isUnit(unit: string, isApart: boolean): boolean {
  if (!isApart) return false;
  const words = (unit.match(/\p{L}[\p{L}\p{M}]*[²³]?|[°%]/gu) ?? []).map((text) => ({
    text,
    lower: text.toLowerCase(),
  }));
  // "Volume (million m³)".
  if (scaleWords().has(words[0]?.lower ?? '')) words.shift();
  if (words.length === 0) return false;
  if (percentLength(words[0]?.lower, words[1]?.lower) === words.length) return true;
  return [true, false].some((isEnglish) => measuresAt(words, 0, isEnglish)?.length === words.length);
}

export function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}
