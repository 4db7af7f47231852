import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { loadYaml } from '../index.ts';

const schema = z.strictObject({ name: z.string() });
let temporary: TemporaryDirectory;
const at = (name: string) => join(temporary.path, name);

beforeAll(() => {
  temporary = temporaryDirectory();
  writeFileSync(at('good.yaml'), '\uFEFFname: good\r\n');
  writeFileSync(at('bad.yaml'), 'name: good\nnmae: bad\n');
  writeFileSync(at('utf16.yaml'), Buffer.from('\uFEFFname: x', 'utf16le'));
  mkdirSync(at('folder'));
});
afterAll(() => temporary.remove());

it('loads a file', async () => {
  const value = await loadYaml(at('good.yaml'), schema);
  expectTypeOf(value).toEqualTypeOf<{ name: string }>();
  expect(value).toEqual({ name: 'good' });
});

it('names the file in what is wrong with it', async () => {
  await expect(loadYaml(at('bad.yaml'), schema)).rejects.toThrow(
    `${at('bad.yaml')}:2:1: unknown key "nmae"; did you mean "name"?`,
  );
});

it('fails on a missing file unless it may be missing', async () => {
  await expect(loadYaml(at('none.yaml'), schema)).rejects.toThrow(
    `${at('none.yaml')}: there is no such file; create it`,
  );
  const value = await loadYaml(at('none.yaml'), schema, { allowMissing: true });
  expectTypeOf(value).toEqualTypeOf<{ name: string } | undefined>();
  expect(value).toBeUndefined();
});

it('says what a file is that cannot be read', async () => {
  await expect(loadYaml(at('folder'), schema)).rejects.toThrow('this is a directory; expected a file');
  await expect(loadYaml(at('utf16.yaml'), schema)).rejects.toThrow('this is no UTF-8 text; save it as UTF-8');
});
