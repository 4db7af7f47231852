import { isAscii } from 'node:buffer';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bundleProgram } from './program.ts';

const scratch = temporaryDirectory();
const root = realpathSync(scratch.path);
const program = join(root, 'apps/trunkline');
const compiled = join(root, 'compiled');

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
      "import { channel } from 'node:diagnostics_channel';",
      "import { once } from 'node:events';",
      "import { rmSync, writeFileSync } from 'node:fs';",
      "import { createServer } from 'node:http';",
      "import { Worker } from 'node:worker_threads';",
      "import * as http2 from 'node:http2';",
      "import { kind } from 'library';",
      "const isLate = !(process as unknown as { moduleLoadList: string[] }).moduleLoadList.includes('NativeModule http2');",
      'export const connect = () => http2.connect;',
      'void run();',
      'async function run() {',
      "  const { place } = await import('./place.ts');",
      '  console.log(place());',
      '  console.log(JSON.stringify({ server: typeof createServer, isStrict: isStrict(), ...loaded() }));',
      "  const [thread] = await once(new Worker(new URL('./thread.ts', import.meta.url)), 'message');",
      '  console.log(JSON.stringify(thread));',
      "  const library = await import('library');",
      '  console.log(JSON.stringify({ kept: library.kind, isOnce: library.kind === kind, isLate }));',
      '  console.log(JSON.stringify([await failure(), await failure()]));',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the program's.
      "  console.log(JSON.stringify([String.raw`\\d–€😀\\`\\${0}${kind.format}$`, '–€😀', /^[–€]$/.test('–')]));",
      '  const { REPLACED_FOLDER: folder } = process.env;',
      '  if (folder === undefined) return;',
      '  rmSync(folder, { recursive: true });',
      "  writeFileSync(folder, '');",
      "  channel('trunkline:started').publish(undefined);",
      "  setImmediate(() => console.log('runs on'));",
      '}',
      'function isStrict(this: unknown) {',
      '  return this === undefined;',
      '}',
      'async function failure() {',
      '  try {',
      "    const { needed } = await import('./failing.ts');",
      '    return typeof needed;',
      '  } catch (error) {',
      '    return (error as Error).message;',
      '  }',
      '}',
      'function loaded() {',
      '  const { moduleLoadList } = process as unknown as { moduleLoadList: string[] };',
      "  return { loadsFetch: moduleLoadList.some((name) => name.includes('undici/undici')) };",
      '}',
    ].join('\n'),
  );
  writeFileSync(
    join(program, 'failing.ts'),
    "import { kind } from 'absent-library';\nexport const needed = () => kind;",
  );
  writeFileSync(
    join(program, 'thread.ts'),
    [
      "import { parentPort } from 'node:worker_threads';",
      "import { place } from './place.ts';",
      'parentPort?.postMessage(JSON.parse(place()));',
    ].join('\n'),
  );
  const library = join(root, 'node_modules/library');
  mkdirSync(library);
  const exports = { import: './index.mjs', require: './index.cjs' };
  writeFileSync(join(library, 'package.json'), JSON.stringify({ name: 'library', exports }));
  writeFileSync(join(library, 'index.mjs'), "export const kind = { format: 'module' };");
  writeFileSync(join(library, 'index.cjs'), "exports.kind = { format: 'script' };");
  writePlace('first');
  await bundleProgram(root);
});
afterAll(() => scratch.remove());

function writePlace(word: string): void {
  const lines = [
    'export function place(): string {',
    '  const where = [import.meta.dirname, import.meta.url, new Error().stack?.match(/\\.[cm]js/)?.[0]];',
    `  return JSON.stringify([${JSON.stringify(word)}, ...where]);`,
    '}',
  ];
  writeFileSync(join(program, 'place.ts'), lines.join('\n'));
}

/** Chunks are cached for commands with a name. */
function run(command: string[] = [], env: Record<string, string> = { NODE_COMPILE_CACHE: compiled }) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'bin/trunkline.js'), ...command],
    { encoding: 'utf8', env: { ...process.env, NODE_COMPILE_CACHE: '', XDG_CACHE_HOME: '', ...env } },
  );
  const [place = '[]', http = '{}', thread = '[]', library = '{}', failures = '[]', texts = '[]', last] =
    stdout.split('\n');
  const [word, directory, url, ending] = JSON.parse(place || '[]') as unknown[];
  return {
    status,
    word,
    directory,
    url,
    isBundle: ending === '.cjs',
    stderr,
    http: JSON.parse(http) as unknown,
    thread: JSON.parse(thread || '[]') as unknown[],
    library: JSON.parse(library || '{}') as unknown,
    failures: JSON.parse(failures || '[]') as string[],
    texts: JSON.parse(texts || '[]') as unknown[],
    last,
  };
}

/** What a folder of compiled code holds: chunks of the program, and files of Node's own cache. */
function cached(folder = compiled): { chunks: string[]; others: string[] } {
  const found = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const isChunk = (path: string) => path.includes('.cjs-');
  return { chunks: files.filter(isChunk).sort(), others: files.filter((path) => !isChunk(path)) };
}

describe('the cache of compiled code', () => {
  it('holds what a command compiled for its next start', () => {
    expect(cached().chunks).toEqual([]);
    expect(run(['up'])).toMatchObject({ word: 'first', stderr: '' });
    const { chunks } = cached();
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.every((path) => /\.cjs-up-\d+$/.test(path))).toBe(true);
    const before = chunks.map((path) => readFileSync(path));
    expect(run(['up'])).toMatchObject({ word: 'first', stderr: '' });
    expect(cached().chunks.map((path) => readFileSync(path))).toEqual(before);
  });

  const damages: [string, (file: Buffer) => Uint8Array][] = [
    ['one wrong byte', (file) => file.with(file.length >> 1, ~(file[file.length >> 1] ?? 0))],
    ['half of a file', (file) => file.subarray(0, file.length >> 1)],
    ['a few bytes', (file) => file.subarray(0, 3)],
  ];
  it.each(damages)('is compiled and written again where it holds %s', (_name, damage) => {
    run(['up']);
    const { chunks } = cached();
    const damaged = chunks.map((path) => damage(readFileSync(path)));
    for (const [index, path] of chunks.entries()) writeFileSync(path, damaged[index] ?? '');
    expect(run(['up'])).toMatchObject({ status: 0, word: 'first', stderr: '' });
    const healed = chunks.map((path) => readFileSync(path));
    expect(healed.filter((file, index) => file.equals(damaged[index] ?? file))).toEqual([]);
    expect(run(['up'])).toMatchObject({ status: 0, word: 'first', stderr: '' });
    expect(chunks.map((path) => readFileSync(path))).toEqual(healed);
  });

  it('is not used for another text of the same length', () => {
    run(['up']);
    const bundle = join(root, 'node_modules/.trunkline');
    const chunk = readdirSync(bundle).find((name) => /^place-.*\.cjs$/.test(name)) ?? '';
    const text = readFileSync(join(bundle, chunk), 'utf8');
    onTestFinished(() => writeFileSync(join(bundle, chunk), text));
    writeFileSync(join(bundle, chunk), text.replace('first', 'third'));
    expect(run(['up'])).toMatchObject({ word: 'third', stderr: '' });
  });

  it('loses old files when new ones are written, those of other programs not', () => {
    run(['up']);
    const [chunk = '', ...chunks] = cached().chunks;
    const [other = ''] = cached().others;
    const former = ['former.cjs-up-1', 'former.cjs-up-1.4711'].map((name) => join(chunk, '..', name));
    const recent = join(chunk, '../recent.cjs-up-1');
    for (const path of [...former, recent]) writeFileSync(path, '');
    const weeksAgo = new Date(Date.now() - 15 * 24 * 60 * 60 * 1000);
    for (const path of [...former, ...chunks, other]) utimesSync(path, weeksAgo, weeksAgo);
    run(['up']);
    expect(former.every((path) => existsSync(path))).toBe(true);
    rmSync(chunk);
    run(['up']);
    expect(former.filter((path) => existsSync(path))).toEqual([]);
    expect([chunk, ...chunks, other, recent].filter((path) => !existsSync(path))).toEqual([]);
  });

  it('may vanish under a running service', () => {
    const env = { NODE_COMPILE_CACHE: join(root, 'vanishing'), REPLACED_FOLDER: join(root, 'vanishing') };
    expect(run(['up'], env)).toMatchObject({ status: 0, last: 'runs on', stderr: '' });
  });
});

describe('the folder of compiled code', () => {
  let homes = 0;
  /** A user's home with a folder for the cache in it. */
  function makeHome(): { home: string; folder: string; env: Record<string, string> } {
    homes += 1;
    const home = join(root, `home-${homes}`);
    mkdirSync(home);
    return { home, folder: join(home, '.cache/trunkline'), env: { HOME: home, TMPDIR: home } };
  }
  const works = { status: 0, word: 'first', isBundle: true, stderr: '' };

  it('is one of the user, for Node and for the program', () => {
    const { home, folder, env } = makeHome();
    expect(run(['up'], env)).toMatchObject(works);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const { chunks, others } = cached(folder);
    expect([chunks.length > 1, others.length > 1]).toEqual([true, true]);
    expect(readdirSync(home)).toEqual(['.cache']);
    // There is nothing but Trunkline's there: old files of Node go too.
    const [chunk = ''] = chunks;
    const [other = ''] = others;
    utimesSync(other, 0, 0);
    writeFileSync(join(folder, 'note'), '');
    utimesSync(join(folder, 'note'), 0, 0);
    rmSync(chunk);
    run(['up'], env);
    expect([chunk, other, join(folder, 'note')].map((path) => existsSync(path))).toEqual([true, false, true]);
  });

  it('lies in XDG_CACHE_HOME, unless that is relative', () => {
    const { home, folder, env } = makeHome();
    expect(run(['up'], { ...env, XDG_CACHE_HOME: join(home, 'xdg') })).toMatchObject(works);
    expect(cached(join(home, 'xdg/trunkline')).chunks.length).toBeGreaterThan(1);
    expect(existsSync(folder)).toBe(false);
    expect(run(['up'], { ...env, XDG_CACHE_HOME: 'relative' })).toMatchObject(works);
    expect(cached(folder).chunks.length).toBeGreaterThan(1);
  });

  const unfit: [string, (folder: string) => void][] = [
    ['others can write to', (folder) => chmodSync(folder, 0o707)],
    ['its group can write to', (folder) => chmodSync(folder, 0o770)],
    ['leads elsewhere', replaceByLink],
  ];
  if (process.getuid?.() === 0) unfit.push(['somebody else owns', (folder) => chownSync(folder, 4711, 0)]);
  it.each(unfit)('is not used if it is one that %s', (_name, spoil) => {
    const { home, folder, env } = makeHome();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    spoil(folder);
    expect(run(['up'], env)).toMatchObject(works);
    expect(cached(home)).toEqual({ chunks: [], others: [] });
  });

  it('begins anew where others can write into the folder that Node makes there', () => {
    const { folder, env } = makeHome();
    expect(run(['up'], env)).toMatchObject(works);
    const [version = ''] = readdirSync(folder);
    writeFileSync(join(folder, version, 'planted'), '');
    chmodSync(join(folder, version), 0o777);
    expect(run(['up'], env)).toMatchObject(works);
    expect(existsSync(join(folder, version, 'planted'))).toBe(false);
    expect(statSync(join(folder, version)).mode & 0o777).toBe(0o700);
    expect(cached(folder).chunks.length).toBeGreaterThan(1);
  });

  it('is left to Node where NODE_COMPILE_CACHE names one that others can write to', () => {
    const { home, env } = makeHome();
    const given = join(home, 'given');
    mkdirSync(given);
    chmodSync(given, 0o777);
    expect(run(['up'], { ...env, NODE_COMPILE_CACHE: given })).toMatchObject(works);
    expect(cached(given)).toEqual({ chunks: [], others: expect.arrayContaining([expect.any(String)]) });
    chmodSync(given, 0o755);
    run(['up'], { ...env, NODE_COMPILE_CACHE: given });
    expect(cached(given).chunks.length).toBeGreaterThan(1);
    expect(readdirSync(home)).toEqual(['given']);
  });
});

function replaceByLink(folder: string): void {
  rmSync(folder, { recursive: true });
  mkdirSync(`${folder}-elsewhere`, { mode: 0o700 });
  symlinkSync(`${folder}-elsewhere`, folder);
}

describe('the bundle of the program', () => {
  const place = { directory: program, url: `file://${program}/place.ts` };

  it('is what the launcher runs, and knows where its sources lie', () => {
    expect(run()).toMatchObject({ word: 'first', ...place, isBundle: true, stderr: '' });
  });

  it('takes a library as "import" finds it, once, however it is loaded', () => {
    expect(run().library).toEqual({ kept: { format: 'module' }, isOnce: true, isLate: true });
  });

  it('gives the cause each time a chunk cannot be loaded', () => {
    const { failures } = run();
    expect(failures[0]).toContain('absent-library');
    expect(failures[1]).toBe(failures[0]);
  });

  it('keeps characters beyond ASCII, in raw templates too, in chunks of ASCII', () => {
    const bundle = join(root, 'node_modules/.trunkline');
    const chunks = readdirSync(bundle).filter((name) => name.endsWith('.cjs'));
    expect(chunks.filter((name) => !isAscii(readFileSync(join(bundle, name))))).toEqual([]);
    expect(run().texts).toEqual([String.raw`\d–€😀\`\${0}module$`, '–€😀', true]);
  });

  it('reads a chunk as UTF-8 where it is not ASCII', () => {
    const bundle = join(root, 'node_modules/.trunkline');
    const chunk = readdirSync(bundle).find((name) => /^place-.*\.cjs$/.test(name)) ?? '';
    const text = readFileSync(join(bundle, chunk), 'utf8');
    onTestFinished(() => writeFileSync(join(bundle, chunk), text));
    writeFileSync(join(bundle, chunk), text.replace('first', 'früh €'));
    expect(run()).toMatchObject({ word: 'früh €', isBundle: true, stderr: '' });
  });

  it('takes node:http without the fetch that Node would load with it', () => {
    expect(run().http).toMatchObject({ server: 'function', loadsFetch: false });
  });

  it('is strict, as modules are', () => {
    expect(run().http).toMatchObject({ isStrict: true });
  });

  it('holds the threads that it starts, which know where their sources lie', () => {
    expect(run().thread).toEqual(['first', program, place.url, '.mjs']);
  });

  it('is passed over once a source has changed, until it is made again', async () => {
    writePlace('second');
    expect(run()).toMatchObject({ word: 'second', ...place, isBundle: false, stderr: '' });
    expect(run().thread).toEqual(['second', program, place.url, null]);
    const before = readdirSync(join(root, 'node_modules/.trunkline'));
    await bundleProgram(root);
    expect(run()).toMatchObject({ word: 'second', ...place, isBundle: true, stderr: '' });
    // A process that runs the former one still finds its chunks.
    expect(readdirSync(join(root, 'node_modules/.trunkline'))).toEqual(expect.arrayContaining(before));
  });

  it('is passed over once the loader has changed; its builder counts too', async () => {
    const loader = join(root, 'bin/load-program.js');
    const builder = join(import.meta.dirname, 'program.ts');
    const list = readFileSync(join(root, 'node_modules/.trunkline/program.json'), 'utf8');
    const { inputs } = JSON.parse(list) as { inputs: [string][] };
    expect(inputs.map(([path]) => resolve(root, path))).toContain(builder);
    writeFileSync(loader, `${readFileSync(loader, 'utf8')}\n`);
    expect(run()).toMatchObject({ isBundle: false, stderr: '' });
    await bundleProgram(root);
    expect(run()).toMatchObject({ isBundle: true, stderr: '' });
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
