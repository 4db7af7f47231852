import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { refusedLicences, softwareBillOfMaterials } from './supply-chain.ts';

const ownLock = join(import.meta.dirname, '../../package-lock.json');

it('writes a bill of materials that the official validator accepts', async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  const bill = softwareBillOfMaterials(ownLock);
  expect(await validator.validate(JSON.stringify(bill))).toBeNull();
  expect(bill.components.length).toBeGreaterThan(500);
  const known = new Set(bill.dependencies.map(({ ref }) => ref));
  const unknown = bill.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref));
  expect(unknown).toEqual([]);
  expect(await validator.validate(JSON.stringify({ ...bill, components: [{ name: 'x' }] }))).not.toBeNull();
});

it('names the version that each package really gets', () => {
  const lock = lockFile({
    '': { dependencies: { a: '1', b: '1' } },
    'node_modules/a': { version: '1.0.0', license: 'MIT', dependencies: { b: '2' } },
    'node_modules/a/node_modules/b': { version: '2.0.0', license: 'MIT' },
    'node_modules/b': { version: '1.0.0', license: 'MIT' },
    'node_modules/tool': { version: '1.0.0', license: 'MIT', dev: true },
  });
  expect(softwareBillOfMaterials(lock).dependencies).toEqual([
    { ref: 'pkg:npm/a@1.0.0', dependsOn: ['pkg:npm/b@2.0.0'] },
    { ref: 'pkg:npm/b@1.0.0', dependsOn: [] },
    { ref: 'pkg:npm/b@2.0.0', dependsOn: [] },
    { ref: 'trunkline', dependsOn: ['pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0'] },
  ]);
});

it.each([
  ['MIT', true],
  ['(MIT OR GPL-3.0-or-later)', true],
  ['(MIT AND Zlib)', true],
  ['(MIT AND GPL-3.0-only)', false],
  ['AGPL-3.0-only', false],
  [undefined, false],
])('judges the licence %s', (license, accepted) => {
  const lock = lockFile({ 'node_modules/a': { version: '1.0.0', ...(license && { license }) } });
  expect(refusedLicences(lock)).toEqual(accepted ? [] : [`a 1.0.0: ${license ?? 'see the package'}`]);
});

function lockFile(packages: Record<string, object>): string {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const file = join(directory.path, 'package-lock.json');
  writeFileSync(file, JSON.stringify({ name: 'trunkline', version: '0.1.0', packages }));
  return file;
}
