import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveInside, safeFileName } from './safe-path.ts';

describe('safeFileName', () => {
  it('keeps plain names and encodes the rest', () => {
    expect(safeFileName('session-1_a.json')).toBe('session-1_a.json');
    expect(safeFileName('system:activity')).toBe('system%3Aactivity');
    expect(safeFileName('a/b\\c')).toBe('a%2Fb%5Cc');
    expect(safeFileName('..')).toBe('%2E.');
    expect(safeFileName('.hidden')).toBe('%2Ehidden');
    expect(safeFileName('é\0')).toBe('%C3%A9%00');
  });

  it('refuses an empty name', () => {
    expect(() => safeFileName('')).toThrow(expect.objectContaining({ code: 'name_refused' }));
  });

  it('is one plain, short, distinct component for any text', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const name = safeFileName(one);
        expect(name).toMatch(/^[A-Za-z0-9_%~-][A-Za-z0-9_%~.-]*$/);
        expect(name.length).toBeLessThanOrEqual(200);
        expect(safeFileName(other) === name).toBe(one === other);
      }),
    );
  });

  it('tells halves of characters apart', () => {
    const names = ['\ud800', '\ud801', '\ufffd'].map(safeFileName);
    expect(new Set(names).size).toBe(3);
  });

  it('tells long names apart by their ends', () => {
    const start = 'x'.repeat(500);
    expect(safeFileName(`${start}1`)).not.toBe(safeFileName(`${start}2`));
  });
});

describe('resolveInside', () => {
  let directory: TemporaryDirectory;
  let root: string;
  beforeEach(() => {
    directory = temporaryDirectory();
    root = join(realpathSync(directory.path), 'root');
    mkdirSync(join(root, 'sub'), { recursive: true });
    writeFileSync(join(directory.path, 'secret'), 'secret');
  });
  afterEach(() => directory.remove());

  it('gives the path of what stays inside, there or not', () => {
    expect(resolveInside(root, 'sub/file.txt')).toBe(join(root, 'sub', 'file.txt'));
    expect(resolveInside(root, 'not/there/yet')).toBe(join(root, 'not', 'there', 'yet'));
    expect(resolveInside(root, 'sub/../file..txt')).toBe(join(root, 'file..txt'));
    expect(resolveInside(root, '.')).toBe(root);
    expect(resolveInside(join(root, 'missing'), 'a')).toBe(join(root, 'missing', 'a'));
  });

  it.each([
    '..',
    '../secret',
    'sub/../../secret',
    '../root-too/x',
    '..\\secret',
    'sub\\..\\..\\secret',
    '/etc/passwd',
    '\\\\host\\share',
    'C:\\windows',
    'file\0.txt',
    '',
  ])('refuses %j', (name) => {
    expect(() => resolveInside(root, name)).toThrow(expect.objectContaining({ code: 'name_refused' }));
  });

  it('refuses a link that leads out, at the end or on the way', () => {
    symlinkSync(join(directory.path, 'secret'), join(root, 'leak'));
    symlinkSync(directory.path, join(root, 'sub', 'up'));
    expect(() => resolveInside(root, 'leak')).toThrow(/link in it leads out/);
    expect(() => resolveInside(root, 'sub/up/secret')).toThrow(/link in it leads out/);
    expect(() => resolveInside(root, 'sub/up/new-file')).toThrow(/link in it leads out/);
  });

  it('refuses a link whose target does not exist yet', () => {
    symlinkSync(join(directory.path, 'planted'), join(root, 'dangling'));
    expect(() => resolveInside(root, 'dangling')).toThrow(/points nowhere/);
  });

  it('follows a link that stays inside, and a root that is itself a link', () => {
    symlinkSync(join(root, 'sub'), join(root, 'alias'));
    expect(resolveInside(root, 'alias/file')).toBe(join(root, 'sub', 'file'));
    const linkedRoot = join(directory.path, 'linked');
    symlinkSync(root, linkedRoot);
    expect(resolveInside(linkedRoot, 'sub/file')).toBe(join(root, 'sub', 'file'));
  });

  it('never gives a path outside, whatever the name', () => {
    const part = fc.constantFrom('..', '.', 'sub', '', 'a', '\\', '...', '..\\');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const path = allowed(root, parts.join('/'));
        expect(path === undefined || path === root || path.startsWith(`${root}/`)).toBe(true);
      }),
    );
  });
});

function allowed(root: string, name: string): string | undefined {
  try {
    return resolveInside(root, name);
  } catch {
    return undefined;
  }
}
