import { statSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { Seal, SealKeyMissing } from './seal.ts';

it('opens what it sealed, also after a restart, and nothing that was changed or is about something else', async () => {
  const home = temporaryDirectory();
  const sealed = (await Seal.open(home.path)).seal('token: hush', 'mcp/far');
  const again = await Seal.open(home.path);
  expect(sealed).not.toContain('hush');
  expect(again.open(sealed, 'mcp/far')).toBe('token: hush');
  expect(statSync(join(home.path, 'seal.json')).mode & 0o777).toBe(0o600);
  expect(() => again.open(sealed, 'mcp/near')).toThrow();
  expect(() => again.open(`${sealed.slice(0, -2)}AA`, 'mcp/far')).toThrow();
  expect(() => again.open('', 'mcp/far')).toThrow(SealKeyMissing);
  home.remove();
});

it('opens what another sealed only with the key of the other', async () => {
  const [one, other] = [temporaryDirectory(), temporaryDirectory()];
  const [mine, theirs] = [await Seal.open(one.path), await Seal.open(other.path)];
  const sealed = theirs.seal('token: hush', 'mcp/far');
  expect(() => mine.open(sealed, 'mcp/far')).toThrow(SealKeyMissing);
  await mine.add(theirs.ownId, theirs.keyOf(theirs.ownId) ?? '');
  expect(mine.open(sealed, 'mcp/far')).toBe('token: hush');
  expect((await Seal.open(one.path)).open(sealed, 'mcp/far')).toBe('token: hush');
  one.remove();
  other.remove();
});
