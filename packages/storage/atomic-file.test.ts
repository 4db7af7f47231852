import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readJsonFile, writeFileAtomic } from './atomic-file.ts';

let directory: TemporaryDirectory;
let path: string;
beforeEach(() => {
  directory = temporaryDirectory();
  path = join(directory.path, 'state.json');
});
afterEach(() => directory.remove());

const mode = (file: string) => statSync(file).mode & 0o777;

describe('writeFileAtomic', () => {
  it('writes text and bytes, creating directories, and leaves nothing else behind', async () => {
    const deep = join(directory.path, 'a', 'b', 'c.bin');
    await writeFileAtomic(deep, new Uint8Array([1, 2, 3]));
    await writeFileAtomic(path, '{"a":1}');
    expect([...readFileSync(deep)]).toEqual([1, 2, 3]);
    expect(readFileSync(path, 'utf8')).toBe('{"a":1}');
    expect(readdirSync(directory.path).sort()).toEqual(['a', 'state.json']);
  });

  it('lets the last of many writers win and never mixes them', async () => {
    const versions = Array.from({ length: 50 }, (_, number) => String(number % 10).repeat(20_000 + number));
    const seen = new Set<string>();
    const writes = Promise.all(versions.map((version) => writeFileAtomic(path, version)));
    const reading = (async () => {
      for (let turn = 0; turn < 50; turn += 1) {
        seen.add(((await readJsonText(path)) ?? versions[0]) as string);
      }
    })();
    await Promise.all([writes, reading]);
    expect([...seen].filter((content) => !versions.includes(content))).toEqual([]);
    expect(readFileSync(path, 'utf8')).toBe(versions.at(-1));
    expect(readdirSync(directory.path)).toEqual(['state.json']);
  });

  it('has its content, or a later one, on the disk when it resolves', async () => {
    const versions = Array.from({ length: 20 }, (_, number) => number);
    await Promise.all(
      versions.map(async (version) => {
        await writeFileAtomic(path, String(version));
        expect(Number(readFileSync(path, 'utf8'))).toBeGreaterThanOrEqual(version);
      }),
    );
  });

  it('keeps the mode of an existing file and takes the one asked for', async () => {
    await writeFileAtomic(path, 'secret', { mode: 0o600 });
    expect(mode(path)).toBe(0o600);
    await writeFileAtomic(path, 'still secret');
    expect(mode(path)).toBe(0o600);
    chmodSync(path, 0o640);
    await writeFileAtomic(path, 'shared');
    expect(mode(path)).toBe(0o640);
  });

  it('replaces what a link points to and keeps the link', async () => {
    const target = join(directory.path, 'target.json');
    writeFileSync(target, 'old');
    symlinkSync(target, path);
    await writeFileAtomic(path, 'new');
    expect(readFileSync(target, 'utf8')).toBe('new');
    expect(readdirSync(directory.path).sort()).toEqual(['state.json', 'target.json']);
  });

  it('removes what killed writers of the same file left, and nothing else', async () => {
    const litter = ['.state.json.999999999-0a1b2c3d.tmp', `.state.json.${process.pid}-0a1b2c3d.tmp`];
    const others = [
      '.state.json.1-0a1b2c3d.tmp',
      '.other.json.999999999-0a1b2c3d.tmp',
      '.state.json.notes.tmp',
      // Another thread of this process may be writing it.
      `.state.json.${process.pid}-4e5f6a7b.tmp`,
    ];
    for (const name of [...litter, ...others]) writeFileSync(join(directory.path, name), 'part');
    for (const name of litter) utimesSync(join(directory.path, name), 0, 0);
    await writeFileAtomic(path, 'whole');
    expect(readdirSync(directory.path).sort()).toEqual([...others, 'state.json'].sort());
  });

  it('leaves a file alone that somebody changed or removed while it was written', async () => {
    for (const meddle of [() => unlinkSync(path), () => writeFileSync(path, 'by hand')]) {
      await writeFileAtomic(path, 'old');
      const writing = writeFileAtomic(path, 'new', { over: 'old' });
      meddle();
      await expect(writing).rejects.toMatchObject({
        code: 'file_changed',
        message: `The file ${path} was changed or removed meanwhile: read it again.`,
      });
    }
    expect(readFileSync(path, 'utf8')).toBe('by hand');
    await writeFileAtomic(path, 'new', { over: 'by hand' });
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readdirSync(directory.path)).toEqual(['state.json']);
  });

  it('lets a write that depends on what is there wait for those before it, and take the place of none', async () => {
    const writes = [
      writeFileAtomic(path, '1'),
      writeFileAtomic(path, '2'),
      writeFileAtomic(path, '3', { over: 'something else' }),
      writeFileAtomic(path, '4', { over: '2' }),
    ];
    const outcomes = await Promise.allSettled(writes);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(readFileSync(path, 'utf8')).toBe('4');
  });

  it('goes on after a failure, which reaches only its own callers', async () => {
    mkdirSync(path);
    await expect(writeFileAtomic(path, 'x')).rejects.toMatchObject({
      code: 'file_unwritable',
      message: `The file ${path} cannot be written: there is a directory in its place.`,
    });
    expect(readdirSync(directory.path)).toEqual(['state.json']);
    const other = join(directory.path, 'other.json');
    await writeFileAtomic(other, 'fine');
    expect(readFileSync(other, 'utf8')).toBe('fine');
  });

  it('runs a waiting write even when the one before it failed', async () => {
    const blocked = join(directory.path, 'file', 'inside.json');
    writeFileSync(join(directory.path, 'file'), 'not a directory');
    const outcomes = await Promise.allSettled([writeFileAtomic(blocked, '1'), writeFileAtomic(blocked, '2')]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected']);
    expect(String((outcomes[1] as PromiseRejectedResult).reason)).toContain(blocked);
  });
});

async function readJsonText(file: string): Promise<string | undefined> {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  } finally {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('readJsonFile', () => {
  it('gives the parsed content, or undefined when there is no file', async () => {
    expect(await readJsonFile(path)).toBeUndefined();
    await writeFileAtomic(path, '{"a":[1,2]}');
    expect(await readJsonFile(path)).toEqual({ a: [1, 2] });
  });

  it.each(['', '{"a":', 'hello'])('says which file is damaged (%j)', async (content) => {
    writeFileSync(path, content);
    await expect(readJsonFile(path)).rejects.toMatchObject({
      code: 'file_damaged',
      message: expect.stringMatching(new RegExp(`^The file ${path} is not valid JSON \\(.+\\): mend it`)),
    });
  });

  it('names a path that is no file', async () => {
    await expect(readJsonFile(directory.path)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringContaining(directory.path),
    });
  });
});
