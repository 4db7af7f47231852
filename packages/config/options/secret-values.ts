import type { OptionsOf, OptionTable } from './table.ts';

/** The values that must not be seen: those of secret options, and passwords inside addresses. For the logger. */
export function secretValues<Table extends OptionTable>(table: Table, options: OptionsOf<Table>): string[] {
  const found = new Set<string>();
  for (const [key, option] of Object.entries(table.options)) {
    const texts = textsIn((options as Readonly<Record<string, unknown>>)[key]);
    // A default stands in the reference for all to read.
    const hidden = option.secret
      ? texts.filter((text) => text !== option.defaultText)
      : texts.flatMap(passwordsIn);
    for (const text of hidden) found.add(text);
  }
  return [...found];
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

// As written in the address, and as it is meant.
function passwordsIn(text: string): string[] {
  const password = URL.canParse(text) ? new URL(text).password : '';
  return password === '' ? [] : [password, decodePercent(password)];
}

/** A part of an address as it is meant. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone percent sign: the text is meant as it stands.
    return text;
  }
}
