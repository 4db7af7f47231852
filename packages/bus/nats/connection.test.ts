import { expect, it } from 'vitest';
import { serverWarning } from './connection.ts';

it.each([
  ['2.9.10', 'c', true],
  ['2.9.25', 'c', true],
  ['2.10.0', 'c', true],
  ['2.10.26', 'c', true],
  ['2.10.27', 'c', false],
  ['2.10.27-preview.1', 'c', false],
  ['2.11.0', 'c', false],
  ['2.15.1', 'c', false],
  ['3.0.0', 'c', false],
  // Alone it has no leader to lose.
  ['2.9.10', undefined, false],
])('a server %s of the cluster %s is warned of: %s', (version, cluster, isOld) => {
  const warning = serverWarning({ version, ...(cluster && { cluster }) });
  expect(warning?.startsWith(`NATS ${version} in a cluster can lose messages`) ?? false).toBe(isOld);
});
