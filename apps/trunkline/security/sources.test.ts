import { createHmac } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSigned } from '@trunkline/a2a';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Sources that run in services: no tests, no pages, no fakes. */
const sources = globSync('{apps,packages}/**/*.ts', {
  cwd: root,
  exclude: (path) => /node_modules|dist$|fixtures$|client$|console$|testing$|\.(test|suite)\.ts$/.test(path),
});

const comparison = /(\S+) [!=]==? ([^\s)]+)/g;
const secretName = /(token|secret|apiKey|signature|password|credential|hmac)\W*$/i;
const plainValue = /^\(*(undefined|null|''|""|\d+|'[\w-]+')\W*$/;

/** Lines that compare what is called like a secret with anything but a plain value. */
function timedComparisons(file: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const isTimed = [...line.matchAll(comparison)].some(([, left = '', right = '']) => {
      const namesSecret = secretName.test(left) || secretName.test(right);
      return namesSecret && !plainValue.test(left) && !plainValue.test(right);
    });
    return isTimed ? [`${file}:${index + 1} ${line.trim()}`] : [];
  });
}

/** Comparisons that no caller can time, and words that are no secrets. */
const harmless = [
  /^apps\/research\/citations\//, // Words of a text are called tokens.
  /^apps\/voice\/speech\//, // So are the pieces that a speech model writes.
  /^apps\/switchboard\/surfaces\/tracker\/client\.ts:\d+ return kept\.success/, // Two values of our own: the setting, and what it was when a token was kept.
  /^packages\/config\/options\//, // A setting against its own default, at the start.
];

describe('secrets that callers show', () => {
  it('are compared in a time that tells nothing', () => {
    const found = sources.flatMap((file) => timedComparisons(file, read(file)));
    expect(found.filter((line) => !harmless.some((pattern) => pattern.test(line)))).toEqual([]);
    expect(sources.length).toBeGreaterThan(400);
  });

  it.each([
    'if (given === token) return true;',
    'return options.apiKey !== shown;',
    "if (context.req.header('x-signature') == signature) {",
    'const same = this.#secret === presented;',
  ])('would be found when compared as in: %s', (line) => {
    expect(timedComparisons('x.ts', line)).toHaveLength(1);
  });

  it.each([
    'if (token === undefined) return;',
    "if (secret !== '') x();",
    "typeof token === 'string'",
    'null === token',
  ])('are not taken for compared in: %s', (line) => {
    expect(timedComparisons('x.ts', line)).toEqual([]);
  });
});

it('signatures of other agents hold for five minutes and for one body', () => {
  const now = Date.now();
  const sign = (at: number, body: string) => {
    const timestamp = String(Math.floor(at / 1000));
    const signature = `sha256=${createHmac('sha256', 'key').update(`${timestamp}.${body}`).digest('hex')}`;
    return { timestamp, signature };
  };
  expect(isSigned('key', 'body', sign(now, 'body'), now)).toBe(true);
  expect(isSigned('key', 'body', sign(now - 301_000, 'body'), now)).toBe(false);
  expect(isSigned('key', 'body', sign(now + 302_000, 'body'), now)).toBe(false);
  expect(isSigned('key', 'other', sign(now, 'body'), now)).toBe(false);
  expect(isSigned('other', 'body', sign(now, 'body'), now)).toBe(false);
  const { signature } = sign(now - 301_000, 'body');
  expect(isSigned('key', 'body', { timestamp: sign(now, '').timestamp, signature }, now)).toBe(false);
});

describe('the licences of what runs with Trunkline', () => {
  const rows = read('THIRD-PARTY.md')
    .split('\n')
    .filter((line) => /^\| (?!package \|)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name = '', version = '', licence = '', kind = '']) => ({ name, version, licence, kind }));
  /** Each may be passed on with a product under MIT, as long as its own text goes along. */
  const permissive =
    /^\(?(MIT|MIT-0|ISC|0BSD|Unlicense|CC0-1\.0|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|OFL-1\.1|Zlib|Python-2\.0|AFL-2\.1|public domain)\b/;
  /** Weak copyleft: used as they are, from a package of their own that anyone may replace. */
  const replaceable = /^(MPL-2\.0|LGPL-3\.0-or-later)$/;

  it('are known, every one', () => {
    expect(rows.length).toBeGreaterThan(300);
    expect(rows.filter(({ licence }) => !permissive.test(licence) && !replaceable.test(licence))).toEqual([]);
  });

  it('ask for strong copyleft in parts alone that can be left out', () => {
    const strong = rows.filter(({ licence }) => /(^|[^L])A?GPL/.test(licence) && !/ OR /.test(licence));
    expect(strong.filter(({ kind }) => kind !== 'optional')).toEqual([]);
  });

  it('are listed for every package of the lock file', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { name?: string; version?: string; dev?: boolean; link?: boolean }>;
    };
    const listed = new Set(rows.map(({ name, version }) => `${name}@${version}`));
    const missing = Object.entries(packages)
      .filter(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link)
      .map(
        ([path, { name, version }]) =>
          `${name ?? path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
      )
      .filter((each) => !listed.has(each));
    expect(missing).toEqual([]);
  });
});
