import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { checkPackages } from './packages.ts';

const entry = (version: string, integrity = `sha512-${version}`) => ({ version, integrity });

/** A tree in which `installed` lies, npm recorded `recorded`, and the lock file says `lock`. */
function tree(lock: object, recorded: object, installed: Record<string, string>): string {
  const root = temporaryDirectory();
  onTestFinished(root.remove);
  const write = (path: string, value: object) => {
    mkdirSync(dirname(join(root.path, path)), { recursive: true });
    writeFileSync(join(root.path, path), JSON.stringify(value));
  };
  write('package-lock.json', { packages: lock });
  write('node_modules/.package-lock.json', { packages: recorded });
  for (const [name, version] of Object.entries(installed))
    write(`node_modules/${name}/package.json`, { version });
  return root.path;
}

it('is content with what the lock file names, and says how old that is', async () => {
  const packages = { 'node_modules/a': entry('1.0.0'), 'node_modules/@x/own': { link: true } };
  const lock = { ...packages, '': {}, 'node_modules/dev': { ...entry('1.0.0'), dev: true } };
  const root = tree(lock, packages, { a: '1.0.0' });
  expect(await checkPackages(root)).toEqual([
    {
      subject: 'packages',
      state: 'ok',
      words: 'what is installed is what the lock file names; the lock file is 0 days old.',
    },
  ]);
  const ahead = new Date(Date.now() + 60_000);
  utimesSync(join(root, 'package-lock.json'), ahead, ahead);
  expect((await checkPackages(root))[0]?.words).toContain('the lock file is 0 days old');
  const old = new Date(Date.now() - 200 * 24 * 3_600_000);
  utimesSync(join(root, 'package-lock.json'), old, old);
  const [finding] = await checkPackages(root);
  expect(finding?.words).toBe(
    'the lock file is 200 days old, so that later fixes of dependencies are missing.',
  );
});

it('names what drifted, what is unknown, what was altered and what is missing', async () => {
  const of = (names: string[]) =>
    Object.fromEntries(names.map((name) => [`node_modules/${name}`, entry('1.0.0')]));
  const lock = {
    ...of(['same', 'drifted', 'edited', 'altered', 'gone', 'missing']),
    'node_modules/bare': { version: '1.0.0' },
  };
  const recorded = {
    ...of(['same', 'edited', 'gone', 'planted', 'bare']),
    'node_modules/drifted': entry('1.1.0'),
    'node_modules/altered': entry('1.0.0', 'sha512-other'),
  };
  const versions = { same: '1.0.0', drifted: '1.1.0', edited: '0.9.0', altered: '1.0.0', bare: '1.0.0' };
  const [finding] = await checkPackages(tree(lock, recorded, versions));
  expect(finding).toMatchObject({ state: 'warning', advice: 'Run "npm ci".' });
  expect(finding?.words.split('; ')).toEqual([
    'other versions than in the lock file: edited 0.9.0, not 1.0.0, drifted 1.1.0, not 1.0.0',
    'not in the lock file: planted',
    'another content than the lock file says: altered',
    'without a hash in the lock file: bare',
    'not installed: gone, missing.',
  ]);
});
