import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { readOrCreateSecret } from './secret-file.ts';

function homeWith(content?: string) {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const path = join(home.path, 'secret');
  if (content !== undefined) writeFileSync(path, content);
  return { home: home.path, path };
}

it.each([
  ['missing', undefined],
  ['cut off', 'abc'],
  ['not text', '\u0000\ufffd{"broken'],
  ['empty', ''],
])('creates a secret where it is %s, and keeps it', (_, content) => {
  const { home, path } = homeWith(content);
  const secret = readOrCreateSecret(home, 'secret');
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(path, 'utf8').trim()).toBe(secret);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readOrCreateSecret(home, 'secret')).toBe(secret);
});

it('takes the rights of others on the file away', () => {
  const { home, path } = homeWith();
  const secret = readOrCreateSecret(home, 'secret');
  chmodSync(path, 0o644);
  expect(readOrCreateSecret(home, 'secret')).toBe(secret);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});
