import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('records durations of a run of every test alone', () => {
  const script = join(import.meta.dirname, '../test.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, '--durations', 'no/such/file'], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  expect(status).toBe(2);
  expect(stderr).toContain('leave no/such/file out');
});
