// Builds the A2A client as a package for other programs: node client.ts [--out DIR], by default packages/a2a/dist.
// The program is bundled without the libraries that it needs; the declarations are those of its sources.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '../../..');
const source = join(root, 'packages/a2a');
const entry = join(source, 'client/library.ts');
const PACKAGE = '@trunkline/a2a-client';

/** Of what the bundle imports, the package: without a path inside of it. */
const libraryNames = /(?:from |import\(|import )"((?:@[^/"]+\/)?[^./"][^/"]*)/g;

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string' } } });
  const out = resolve(values.out ?? join(source, 'dist'));
  await buildClient(out);
  console.log(`client: built in ${out}; "npm pack" there makes the archive`);
}

/** Writes the package into a folder; an earlier build in it is removed first. */
export async function buildClient(out: string): Promise<void> {
  if (!isFreeFor(out))
    throw new Error(`--out ${out} holds other files, which would be lost: name a new or an empty folder.`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const libraries = await bundle(out);
  writeDeclarations(out);
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(manifest(libraries), undefined, 2)}\n`);
  const page = readFileSync(join(root, 'docs/a2a-client.md'), 'utf8');
  // Pages beside it stay behind.
  writeFileSync(join(out, 'README.md'), page.replace(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, '$1'));
  cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'));
}

function isFreeFor(folder: string): boolean {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return true;
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return false;
  return (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === PACKAGE;
}

function manifest(libraries: ReadonlySet<string>): object {
  const { version, license, dependencies } = JSON.parse(
    readFileSync(join(source, 'package.json'), 'utf8'),
  ) as { version: string; license: string; dependencies: Record<string, string> };
  return {
    name: PACKAGE,
    version,
    description: 'Calls agents that speak A2A 0.3 or 1.0 over JSON-RPC, REST or gRPC.',
    license,
    type: 'module',
    exports: { '.': { types: './types/client/library.d.ts', default: './index.js' } },
    engines: { node: '>=20.19' },
    sideEffects: false,
    dependencies: Object.fromEntries(
      Object.entries(dependencies).filter(
        // The SDK leaves its protocol buffers to whoever uses gRPC.
        ([name]) => libraries.has(name) || name === '@bufbuild/protobuf',
      ),
    ),
  };
}

/** Returns the libraries that the bundle imports. */
async function bundle(out: string): Promise<Set<string>> {
  const bundled = await rolldown({
    input: { index: entry },
    platform: 'node',
    logLevel: 'warn',
    // Whole packages of ours are named for one function; nothing of them works by being imported, and these only build
    // tables, of which servers alone use some.
    treeshake: {
      moduleSideEffects: false,
      manualPureFunctions: ['defineErrors', 'createDialect', 'Buffer.from'],
    },
    external: (id) => builtinModules.includes(id) || (/^[@a-z]/.test(id) && !id.startsWith('@trunkline/')),
  });
  const { output } = await bundled.write({
    dir: out,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    comments: false,
  });
  await bundled.close();
  const named = output.flatMap((file) =>
    file.type === 'chunk' ? [...file.code.matchAll(libraryNames)] : [],
  );
  return new Set(named.map(([, name = '']) => name));
}

/** The declarations that the entry leads to; members marked as internal are left out. */
function writeDeclarations(out: string): void {
  const temporary = mkdtempSync(join(tmpdir(), 'a2a-client-'));
  try {
    const options = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        incremental: false,
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        stripInternal: true,
        rewriteRelativeImportExtensions: true,
        rootDir: join(root, 'packages'),
        outDir: temporary,
        typeRoots: [join(root, 'node_modules/@types')],
      },
      files: [entry],
      include: [],
    };
    const config = join(temporary, 'tsconfig.json');
    writeFileSync(config, JSON.stringify(options));
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], {
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: 300_000,
    });
    const emitted = join(temporary, 'a2a');
    for (const file of reachable(join(emitted, 'client/library.d.ts'))) {
      const copy = join(out, 'types', relative(emitted, file));
      mkdirSync(dirname(copy), { recursive: true });
      cpSync(file, copy);
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function reachable(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g))
    if (name.startsWith('.'))
      reachable(resolve(dirname(file), name.replace(/(\.d)?\.[jt]s$/, '.d.ts')), seen);
    else if (!name.startsWith('node:'))
      throw new Error(
        `The declarations of the client name ${name}: ${file}. Mark what needs it as @internal.`,
      );
  return seen;
}
