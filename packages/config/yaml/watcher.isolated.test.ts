import { mkdirSync, promises, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, expect, it, vi } from 'vitest';
import { z } from 'zod';

const lstat = vi.spyOn(promises, 'lstat');
syncBuiltinESMExports();
const directory = temporaryDirectory();
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  directory.remove();
});

it('looks at no file of a directory inside the one it watches', async () => {
  const inside = join(directory.path, 'inside');
  mkdirSync(inside);
  writeFileSync(join(directory.path, 'known.yaml'), 'number: 1\n');
  for (let number = 0; number < 20; number += 1) writeFileSync(join(inside, `${number}.yaml`), 'number: 2\n');
  const { watchDirectory } = await import('./watch-directory.ts');
  const changed: string[] = [];
  const watch = await watchDirectory(directory.path, z.object({ number: z.number() }), {
    onChange: ({ file }) => void changed.push(file),
    onError: (error) => void changed.push(String(error)),
  });
  writeFileSync(join(inside, 'new.yaml'), 'number: 3\n');
  writeFileSync(join(directory.path, 'new.yaml'), 'number: 3\n');
  await waitFor(() => changed.length > 0);
  await watch.close();
  expect(changed).toEqual(['new.yaml']);
  const looked = lstat.mock.calls.map(([path]) => String(path));
  expect(looked).toContain(join(directory.path, 'known.yaml'));
  expect(looked.filter((path) => path.startsWith(inside) && path !== inside)).toEqual([]);
});
