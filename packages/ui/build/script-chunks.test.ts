import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { type CodeSplittingGroup, rolldown } from 'rolldown';
import { expect, it, onTestFinished } from 'vitest';
import { adaptToScript } from './script-chunks.ts';

/** Bundles `main.ts` with what it imports, and writes the chunks. */
async function bundle(files: Record<string, string>, groups: CodeSplittingGroup[] = []) {
  const scratch = temporaryDirectory();
  onTestFinished(() => scratch.remove());
  const source = join(scratch.path, 'source');
  mkdirSync(source);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  const program = await rolldown({ input: join(source, 'main.ts'), plugins: [adaptToScript()] });
  onTestFinished(() => program.close());
  const { output } = await program.write({
    dir: join(scratch.path, 'bundle'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    ...(groups.length > 0 && { codeSplitting: { groups } }),
  });
  const chunks = output.filter((file) => file.type === 'chunk');
  const main = join(scratch.path, 'bundle/main.cjs');
  return { load: () => createRequire(main)(main) as unknown, codes: chunks.map(({ code }) => code) };
}

const late = `import { base, Counter, nothing } from './shared.ts';
  class Late extends Counter {}
  export const values = () => [base, new Late(2).next(), nothing?.name, typeof Counter, \`\${base}\`];`;
const main = `import { base } from './shared.ts';
  export const run = async () => [base, ...(await import('./late.ts')).values()];`;
const shared = `export const base = 'base';
  export class Counter { count; constructor(count) { this.count = count; } next() { return this.count + 1; } }
  export var nothing;
  (function (given) { given; })(nothing ||= undefined);`;

it('gives chunks what they take from others as constants of their own', async () => {
  const { load, codes } = await bundle({ 'main.ts': main, 'late.ts': late, 'shared.ts': shared });
  const { run } = load() as { run: () => Promise<unknown[]> };
  expect(await run()).toEqual(['base', 'base', 3, undefined, 'function', 'base']);
  expect(codes.length).toBeGreaterThan(1);
  expect(codes.filter((code) => /defineProperty\(exports, "(?!__|Symbol)/.test(code))).toEqual([]);
});

it.each([
  ['an assignment', 'export const add = () => { nothing = add; };'],
  ['a loop', 'export const add = (all) => { for (nothing of all); };'],
  ['the keys of one', 'export const add = (all) => { for (nothing in all); };'],
  ['a pattern', 'export const add = (all) => { [{ nothing }] = all; };'],
  ['a field of a class', 'export class add { one = (nothing = 1); }'],
])('refuses an export that changes after its module ran: %s', async (_, change) => {
  const files = {
    'main.ts': main,
    'late.ts': late,
    'shared.ts': `${shared}\n${change}\nglobalThis.add = add;`,
  };
  await expect(bundle(files)).rejects.toThrow('nothing may change after others took it');
});

it('refuses one that was declared by a pattern', async () => {
  const files = {
    'main.ts': main,
    'late.ts': late,
    'shared.ts': `${shared.replace('export var nothing;', 'export var { a: [nothing] } = globalThis.given ?? { a: [] };')}
      export const add = () => { nothing += 1; };
      globalThis.add = add;`,
  };
  await expect(bundle(files)).rejects.toThrow('nothing may change after others took it');
});

it('keeps raw templates and patterns beyond ASCII as they are', async () => {
  const { load } = await bundle({
    'main.ts': `const x = 'ß'; export const values = [
      String.raw\`\\d+\\u{1F600}é \\\` \\\${x} \${x} \${String.raw\`\\n\${x}\\\\\`}\`,
      /[😀-😎]\\d/u.test('😃5'), /^(?<größe>é|ß)$/u.exec('ß').groups.größe, \`é\\u00e9\`, 'größe𐐷'.length];`,
  });
  const { values } = load() as { values: unknown[] };
  const x = 'ß';
  expect(values).toEqual([
    String.raw`\d+\u{1F600}é \` \${x} ${x} ${String.raw`\n${x}\\`}`,
    true,
    'ß',
    'éé',
    7,
  ]);
});

it('refuses chunks that need each other', async () => {
  const files = {
    'main.ts':
      "import { both, one } from './one.ts'; import { two } from './two.ts'; export const run = () => [one(), two(), both()];",
    'one.ts': "import { two } from './two.ts'; export const one = () => 1; export const both = () => two();",
    'two.ts': "import { one } from './one.ts'; export const two = () => one() + 1;",
  };
  const groups = ['one', 'two'].map((name) => ({
    name,
    test: new RegExp(`${name}\\.ts$`),
    includeDependenciesRecursively: false,
  }));
  await expect(bundle(files, groups)).rejects.toThrow('chunks need each other');
});
