import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { Weights } from '../../apps/voice/speech/weights.ts';
import { ensurePackages, mayTestSpeech } from './packages.ts';

const toy: Weights = {
  name: 'Toy',
  purpose: 'voice',
  package: 'weights-toy',
  version: '1.2.3',
  files: ['toy.bin'],
  sha256: createHash('sha256').update('toy').digest('hex'),
};
/** Comes with the installation. */
const usual: Weights = { ...toy, name: 'Usual', package: 'weights-usual' };
delete usual.version;

function openFolder() {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  return join(path, 'packages');
}

/** Stands for npm and leaves a package with this content. */
function installing(content: string) {
  const asked: string[][] = [];
  const install = (folder: string, packages: string[]) => {
    asked.push(packages);
    const place = join(folder, 'node_modules/weights-toy');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'toy.bin'), content);
  };
  return { asked, install };
}

it('fetches what users install by hand, once, in its exact version', async () => {
  const folder = openFolder();
  const { asked, install } = installing('toy');
  expect(await ensurePackages([toy, usual], folder, install)).toEqual([]);
  expect(await ensurePackages([toy, usual], folder, install)).toEqual([]);
  expect(asked).toEqual([['weights-toy@1.2.3']]);
});

it('fetches a damaged package again, and names what is not the proven one', async () => {
  const folder = openFolder();
  const missing = await ensurePackages([toy], folder, installing('other').install);
  expect(missing).toEqual([{ name: 'weights-toy@1.2.3', hint: expect.stringContaining('skipped') }]);
  expect(await ensurePackages([toy], folder, installing('toy').install)).toEqual([]);
});

it('installs apart from other runs, and leaves nothing else behind', async () => {
  const folder = openFolder();
  const folders: string[] = [];
  const install = (into: string, packages: string[]) => {
    folders.push(into);
    installing('toy').install(into, packages);
  };
  const runs = [1, 2].map(() => ensurePackages([toy], folder, install));
  expect(await Promise.all(runs)).toEqual([[], []]);
  expect(new Set([folder, ...folders]).size).toBe(1 + folders.length);
  expect(readdirSync(dirname(folder))).toEqual([basename(folder)]);
});

it('names a damaged package of the service, which goes before one that is fetched', async () => {
  const damaged = { ...toy, package: 'vitest', files: ['package.json'] };
  const { asked, install } = installing('toy');
  const missing = await ensurePackages([damaged], openFolder(), install);
  expect(missing).toEqual([{ name: 'vitest@1.2.3', hint: expect.stringContaining('node_modules/vitest') }]);
  expect(asked).toEqual([]);
});

it('goes on without what cannot be fetched, and names it', async () => {
  const fail = () => {
    throw new Error('the registry does not answer');
  };
  const missing = await ensurePackages([toy], openFolder(), fail);
  expect(missing.map(({ name }) => name)).toEqual(['weights-toy@1.2.3']);
  expect(missing[0]?.hint).toContain('the registry does not answer');
});

it.each([
  [[], true],
  [['apps/voice/speech'], true],
  [['apps'], true],
  [['packages/bus', 'apps/voice/call/call.ts'], true],
  [['--changed'], true],
  [['-t', 'a word'], true],
  [['-t', 'bench'], true],
  [['kokoro', 'packages/bus'], true],
  [['packages/bus', '--no-coverage', 'apps/voice/call'], true],
  [['packages/bus', '-t', 'bench'], false],
  [['packages/bus'], false],
  [['packages/bus', '--project', 'plain'], false],
])('speech may be tested by npm test -- %j: %s', (args, expected) => {
  expect(mayTestSpeech(args)).toBe(expected);
});
