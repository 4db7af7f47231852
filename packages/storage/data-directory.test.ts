import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dataDirectory, serviceHome } from './data-directory.ts';

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory.remove());

describe('dataDirectory', () => {
  it('creates the configured directory and leaves it empty', async () => {
    const path = join(directory.path, 'sandbox', 'memory');
    expect(await dataDirectory(path, join(directory.path, 'home'))).toEqual({ path, fellBack: false });
    expect(readdirSync(path)).toEqual([]);
    expect(readdirSync(directory.path)).toEqual(['sandbox']);
  });

  it('takes the per-user directory when none is configured, which is no falling back', async () => {
    const home = join(directory.path, 'home');
    expect(await dataDirectory(undefined, home)).toEqual({ path: home, fellBack: false });
    expect(readdirSync(directory.path)).toEqual(['home']);
  });

  it('falls back when the configured place cannot be a directory', async () => {
    const file = join(directory.path, 'file');
    writeFileSync(file, '');
    const home = join(directory.path, 'home');
    expect(await dataDirectory(join(file, 'inside'), home)).toEqual({
      path: home,
      fellBack: true,
      reason: `${join(file, 'inside')} is not writable: a part of the path is not a directory`,
    });
  });
});

describe('serviceHome', () => {
  it('is one folder a service', () => {
    expect(serviceHome('/data/home', 'agent')).toBe('/data/home/agent');
  });

  it('stays inside the home whatever the name', () => {
    expect(serviceHome('/data/home', '../../etc')).toBe('/data/home/%2E.%2F..%2Fetc');
  });
});
