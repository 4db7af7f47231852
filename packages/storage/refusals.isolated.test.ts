import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readJsonFile, writeFileAtomic } from './atomic-file.ts';
import { dataDirectory } from './data-directory.ts';
import { openDatabase } from './database.ts';
import { rowMigrations } from './fixtures/schema.ts';

/** A disk of one megabyte, seen only by the process that fills it. */
const smallDisk =
  'exec unshare -rm sh -c \'mount -t tmpfs -o size=1m tmpfs "$1" && shift && exec "$@"\' sh "$@"';

let directory: TemporaryDirectory;
let closed: string;
let open: string;
beforeEach(() => {
  directory = temporaryDirectory();
  chmodSync(directory.path, 0o755);
  closed = join(directory.path, 'closed');
  open = join(directory.path, 'open');
  mkdirSync(closed);
  mkdirSync(open);
  chmodSync(closed, 0o555);
  chmodSync(open, 0o777);
});
afterEach(() => directory.remove());

/** Root may write anywhere, so the work is done as the user who owns nothing. */
async function unprivileged<T>(work: () => T | Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return await work();
  process.seteuid?.(65534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe('a directory that this user may not write', () => {
  it('is named when a database cannot be created there', async () => {
    const path = join(closed, 'new.db');
    await unprivileged(() => {
      expect(() => openDatabase(path, { migrations: [] })).toThrow(
        expect.objectContaining({ code: 'database_open', message: expect.stringContaining(path) }),
      );
      expect(() => openDatabase(join(closed, 'deep', 'new.db'), { migrations: [] })).toThrow(
        expect.objectContaining({
          code: 'directory_unwritable',
          message: expect.stringContaining(join(closed, 'deep')),
        }),
      );
    });
  });

  it('is named when a database in it cannot be changed', async () => {
    const path = join(open, 'old.db');
    openDatabase(path, { migrations: rowMigrations }).close();
    chmodSync(path, 0o444);
    chmodSync(open, 0o555);
    await unprivileged(() => {
      expect(() => openDatabase(path, { migrations: [...rowMigrations, 'CREATE TABLE more (a)'] })).toThrow(
        expect.objectContaining({ message: expect.stringContaining(path) }),
      );
    });
  });

  it('is named when a file cannot be written or read', async () => {
    const path = join(closed, 'state.json');
    await unprivileged(async () => {
      await expect(writeFileAtomic(path, '{}')).rejects.toMatchObject({
        code: 'file_unwritable',
        message: `The file ${path} cannot be written: this user has no permission.`,
      });
    });
    writeFileSync(path, '{}', { mode: 0o600 });
    await unprivileged(async () => {
      await expect(readJsonFile(path)).rejects.toMatchObject({
        code: 'file_unreadable',
        message: `The file ${path} cannot be read: this user has no permission.`,
      });
    });
  });

  it('gives way to the fallback, with the reason', async () => {
    const fallback = join(open, 'home', 'agent');
    const result = await unprivileged(() => dataDirectory(join(closed, 'agent'), fallback));
    expect(result).toEqual({
      path: fallback,
      fellBack: true,
      reason: `${join(closed, 'agent')} is not writable: this user has no permission`,
    });
    expect(existsSync(fallback)).toBe(true);
    expect(readdirSync(fallback)).toEqual([]);
  });

  it('is an error when the fallback is no better', async () => {
    await unprivileged(async () => {
      await expect(dataDirectory(closed, join(closed, 'home'))).rejects.toMatchObject({
        code: 'directory_unwritable',
        message: expect.stringMatching(/closed is not writable.*closed\/home is not writable.*Name one/),
      });
    });
  });
});

describe.skipIf(!canMakeSmallDisk())('a full disk', () => {
  it('is named when rows no longer fit', () => {
    expect(fillSmallDisk('rows')).toContain(
      `disk_full: The database ${join(directory.path, 'rows.db')} cannot grow`,
    );
  });

  it('does not keep a database from closing: what was written stays in its log', () => {
    expect(fillSmallDisk('close')).toBe('closed\n');
  });

  it('is named when a file no longer fits', () => {
    const path = join(directory.path, 'big.json');
    expect(fillSmallDisk('file')).toContain(
      `disk_full: The file ${path} cannot be written: the disk is full.`,
    );
  });
});

function canMakeSmallDisk(): boolean {
  const probe = temporaryDirectory();
  const { status } = spawnSync('sh', ['-c', smallDisk, 'sh', probe.path, 'true']);
  probe.remove();
  return status === 0;
}

function fillSmallDisk(kind: string): string {
  const script = fileURLToPath(new URL('./fixtures/disk-filler.ts', import.meta.url));
  const command = [directory.path, process.execPath, script, kind, directory.path];
  return spawnSync('sh', ['-c', smallDisk, 'sh', ...command], { encoding: 'utf8' }).stdout;
}
