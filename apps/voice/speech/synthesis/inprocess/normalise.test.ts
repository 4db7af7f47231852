import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { normalise } from './normalise.ts';

/** By language and kind: what is written, and what is read. */
type SpokenForms = Record<string, Record<string, Record<string, string>>>;

const table: SpokenForms = parse(readFileSync(join(import.meta.dirname, 'spoken-forms.yaml'), 'utf8'));
const cases = Object.entries(table).flatMap(([language, kinds]) =>
  Object.entries(kinds).flatMap(([kind, forms]) =>
    Object.entries(forms).map(([written, spoken]) => ({ language, kind, written, spoken })),
  ),
);

describe('text as it is said', () => {
  it.each(cases)('$language $kind: $written', ({ language, written, spoken }) => {
    expect(normalise(written, language)).toBe(spoken);
  });

  it('is given in every language of the voices, with at least 200 cases', () => {
    expect(Object.keys(table)).toEqual(expect.arrayContaining(['en', 'es', 'fr', 'it', 'pt', 'hi']));
    expect(cases.length).toBeGreaterThanOrEqual(200);
  });

  it('takes the letters of Kokoro for languages', () => {
    expect(normalise('5 km', 'f')).toBe('5 kilomètres');
    expect(normalise('06/05/2024', 'a')).toBe('June 5th, 20 24');
    expect(normalise('06/05/2024', 'b')).toBe('May 6th, 20 24');
  });

  it('is not changed by saying it again', () => {
    for (const { language, spoken } of cases.filter(({ kind }) => kind === 'money'))
      expect(normalise(spoken, language)).toBe(spoken);
  });
});
