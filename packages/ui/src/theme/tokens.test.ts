import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const css = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8');
const SURFACES = ['sunken', 'paper', 'raised', 'hover'];
const LAMPS = ['live', 'waiting', 'failed', 'idle'];

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('the %s theme', (_theme, side) => {
  const colour = (name: string) => tokenOf(name, side);

  it.each(pairs(['ink', 'muted', 'accent-text', 'failed-text'], SURFACES))(
    'shows %s as text on %s',
    (text, surface) => {
      expect(contrast(colour(text), colour(surface))).toBeGreaterThanOrEqual(4.5);
    },
  );

  it.each(LAMPS)('shows the words of %s on every surface that lamps stand on, and on its wash', (lamp) => {
    for (const surface of [...SURFACES, `${lamp}-wash`]) {
      expect(contrast(colour(`${lamp}-text`), colour(surface))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it.each(pairs(['ink', 'muted', 'accent-text'], ['accent-wash', 'failed-wash']))(
    'shows %s on %s',
    (text, wash) => {
      expect(contrast(colour(text), colour(wash))).toBeGreaterThanOrEqual(4.5);
    },
  );

  it.each([
    ['accent-ink', 'accent'],
    ['accent-ink', 'accent-hover'],
    ['danger-ink', 'danger'],
    ['danger-ink', 'danger-hover'],
    ['paper', 'ink'],
  ])('shows %s on a ground of %s', (text, ground) => {
    expect(contrast(colour(text), colour(ground))).toBeGreaterThanOrEqual(4.5);
  });

  it.each(pairs([...LAMPS, 'edge', 'accent-strong', 'focus'], SURFACES))(
    'shows the mark %s on %s',
    (mark, surface) => {
      expect(contrast(colour(mark), colour(surface))).toBeGreaterThanOrEqual(3);
    },
  );
});

it('fails on a pair that cannot be read', () => {
  expect(contrast('#ffffff', '#d9822b')).toBeLessThan(4.5);
});

function pairs(first: string[], second: string[]): [string, string][] {
  return first.flatMap((one) => second.map((two): [string, string] => [one, two]));
}

function tokenOf(name: string, side: 0 | 1): string {
  const value = new RegExp(`^\\s*--${name}: (.+);$`, 'm').exec(css)?.[1] ?? '';
  const alias = /^var\(--(.+)\)$/.exec(value)?.[1];
  if (alias !== undefined) return tokenOf(alias, side);
  const both = /^light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)$/.exec(value);
  if (both === null) throw new Error(`--${name} is not a pair of colours: ${value}`);
  return both[side + 1]!;
}

// The formula of WCAG 2: the ratio of the relative luminances, each raised by 0.05.
function contrast(one: string, two: string): number {
  const [dark, light] = [luminance(one), luminance(two)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) =>
    linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255),
  ) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function linear(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}
