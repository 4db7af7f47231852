import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { familySecret } from './family-secret.ts';

it.each([
  ['cut off', 'abc'],
  ['no text', '\u0000\ufffd{"broken'],
  ['empty', ''],
])('makes a new secret in place of one that is %s, and keeps it', async (_, damaged) => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const path = join(home.path, 'family-secret');
  writeFileSync(path, damaged);
  const secret = await familySecret(home.path);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(path, 'utf8').trim()).toBe(secret);
  expect(await familySecret(home.path)).toBe(secret);
});
