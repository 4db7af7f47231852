import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson } from './validate.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

it('reads whatever JSON there is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

it('takes 256 levels and no more, whatever they are made of', () => {
  expect(parseJson(nested(256))).toHaveLength(1);
  expect(() => parseJson(nested(257))).toThrow('nested deeper than 256 levels');
  expect(() => parseJson(nested(100_000))).toThrow(SyntaxError);
  expect(() => parseJson(`${'{"a":'.repeat(257)}1${'}'.repeat(257)}`)).toThrow('nested deeper');
  expect(parseJson(`[${'[[]],'.repeat(500)}1]`)).toHaveLength(501);
});

it('does not count what stands in strings', () => {
  const brackets = '['.repeat(1000);
  expect(parseJson(JSON.stringify({ a: brackets, b: `\\"${brackets}\\` }))).toEqual({
    a: brackets,
    b: `\\"${brackets}\\`,
  });
  expect(() => parseJson(`["\\\\",${nested(257)}]`)).toThrow('nested deeper');
});

it('throws at what is no JSON', () => {
  for (const text of ['', '{', `"${'x'.repeat(300)}`, `${'\\'.repeat(300)}"`, nested(200).slice(1)])
    expect(() => parseJson(text)).toThrow(SyntaxError);
});
