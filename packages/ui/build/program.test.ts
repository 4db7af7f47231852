import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleProgram } from './program.ts';

const scratch = temporaryDirectory();
const root = realpathSync(scratch.path);
const program = join(root, 'apps/trunkline');

// A repository with the real launcher and a program of a few lines.
beforeAll(async () => {
  cpSync(join(import.meta.dirname, '../../../bin'), join(root, 'bin'), { recursive: true });
  mkdirSync(program, { recursive: true });
  mkdirSync(join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(root, 'package-lock.json'), '{}');
  writeFileSync(
    join(program, 'main.ts'),
    [
      "import { once } from 'node:events';",
      "import { createServer } from 'node:http';",
      "import { Worker } from 'node:worker_threads';",
      "const { place } = await import('./place.ts');",
      'const { moduleLoadList } = process as unknown as { moduleLoadList: string[] };',
      "const loadsFetch = moduleLoadList.some((name) => name.includes('undici/undici'));",
      'console.log(place());',
      'console.log(JSON.stringify({ server: typeof createServer, loadsFetch }));',
      "const [thread] = await once(new Worker(new URL('./thread.ts', import.meta.url)), 'message');",
      'console.log(JSON.stringify(thread));',
    ].join('\n'),
  );
  writeFileSync(
    join(program, 'thread.ts'),
    [
      "import { parentPort } from 'node:worker_threads';",
      "import { place } from './place.ts';",
      'parentPort?.postMessage(JSON.parse(place()));',
    ].join('\n'),
  );
  writePlace('first');
  await bundleProgram(root);
});
afterAll(() => scratch.remove());

function writePlace(word: string): void {
  const lines = [
    'export function place(): string {',
    '  const where = [import.meta.dirname, import.meta.url, new Error().stack?.includes(".mjs")];',
    `  return JSON.stringify([${JSON.stringify(word)}, ...where]);`,
    '}',
  ];
  writeFileSync(join(program, 'place.ts'), lines.join('\n'));
}

function run() {
  const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin/trunkline.js')], {
    encoding: 'utf8',
  });
  const [place = '[]', http = '{}', thread = '[]'] = stdout.split('\n');
  const [word, directory, url, isBundle] = JSON.parse(place || '[]') as unknown[];
  return {
    word,
    directory,
    url,
    isBundle,
    stderr,
    http: JSON.parse(http) as unknown,
    thread: JSON.parse(thread || '[]') as unknown[],
  };
}

describe('the bundle of the program', () => {
  const place = { directory: program, url: `file://${program}/place.ts` };

  it('is what the launcher runs, and knows where its sources lie', () => {
    expect(run()).toMatchObject({ word: 'first', ...place, isBundle: true, stderr: '' });
  });

  it('takes node:http without the fetch that Node would load with it', () => {
    expect(run().http).toEqual({ server: 'function', loadsFetch: false });
  });

  it('holds the threads that it starts, which know where their sources lie', () => {
    expect(run().thread).toEqual(['first', program, place.url, true]);
  });

  it('is passed over once a source has changed, until it is made again', async () => {
    writePlace('second');
    expect(run()).toMatchObject({ word: 'second', ...place, isBundle: false, stderr: '' });
    expect(run().thread).toEqual(['second', program, place.url, false]);
    const before = readdirSync(join(root, 'node_modules/.trunkline'));
    await bundleProgram(root);
    expect(run()).toMatchObject({ word: 'second', ...place, isBundle: true, stderr: '' });
    // A process that runs the former one still finds its chunks.
    expect(readdirSync(join(root, 'node_modules/.trunkline'))).toEqual(expect.arrayContaining(before));
  });

  it('is passed over where it is broken or a source is gone', () => {
    const list = join(root, 'node_modules/.trunkline/program.json');
    writeFileSync(list, '{');
    expect(run()).toMatchObject({ isBundle: false, stderr: expect.stringContaining('cannot be read') });
    writeFileSync(list, JSON.stringify({ entry: 'none.mjs', inputs: [['apps/gone.ts', 1, 1]] }));
    expect(run()).toMatchObject({ isBundle: false, stderr: '' });
    rmSync(list);
    expect(run()).toMatchObject({ isBundle: false, stderr: '' });
  });
});
