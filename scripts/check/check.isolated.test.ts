import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Breach {
  rule: string;
  check: string;
  files: Record<string, string>;
  names: string;
}

interface Outcome {
  status: number | null;
  output: string;
}

const brokenLock = `${JSON.stringify({
  lockfileVersion: 3,
  packages: {
    '': {},
    'node_modules/planted': { version: '1.0.0' },
    'node_modules/planted-native': {
      version: '1.0.0',
      integrity: 'sha512-planted',
      optionalDependencies: { '@planted/darwin-arm64': '1.0.0' },
    },
  },
})}\n`;

/** One planted breach for each rule: the check must fail and name the file. Those of one check are planted together. */
const breaches: Breach[] = [
  {
    rule: 'types',
    check: 'types',
    files: { 'packages/storage/planted.ts': "export const planted: number = 'text';\n" },
    names: 'packages/storage/planted.ts',
  },
  {
    rule: 'types of pages',
    check: 'pages',
    files: { 'packages/ui/src/planted.tsx': 'export const planted: number = <p>text</p>;\n' },
    names: 'packages/ui/src/planted.tsx',
  },
  {
    rule: 'format',
    check: 'lint',
    files: { 'packages/storage/planted-format.ts': 'export const planted   = 1\n' },
    names: 'packages/storage/planted-format.ts',
  },
  {
    rule: 'lint',
    check: 'lint',
    files: {
      'packages/storage/planted-lint.ts': 'export function planted(value: any) {\n  return value;\n}\n',
    },
    names: 'noExplicitAny',
  },
  {
    rule: 'import cycles',
    check: 'lint',
    files: {
      'packages/storage/planted-cycle.ts':
        "import { other } from './planted-cycle-back.ts';\n\nexport const planted = () => other;\n",
      'packages/storage/planted-cycle-back.ts':
        "import { planted } from './planted-cycle.ts';\n\nexport const other = () => planted;\n",
    },
    names: 'noImportCycles',
  },
  {
    rule: 'the environment outside config',
    check: 'lint',
    files: { 'packages/storage/planted-environment.ts': 'export const planted = process.env.HOME;\n' },
    names: 'noProcessEnv',
  },
  {
    rule: 'floating promises',
    check: 'promises',
    files: { 'packages/storage/planted.ts': 'export function planted(): void {\n  Promise.resolve(1);\n}\n' },
    names: 'planted.ts',
  },
  {
    rule: 'layer direction',
    check: 'tree',
    files: { 'packages/storage/planted-layer.ts': "import '@trunkline/bus';\n" },
    names: 'packages/storage/planted-layer.ts: imports bus of layer 2',
  },
  {
    rule: 'layer direction within one layer',
    check: 'tree',
    files: { 'packages/storage/planted-peer.ts': "import '@trunkline/http';\n" },
    names: 'packages/storage/planted-peer.ts: imports http of layer 1',
  },
  {
    rule: 'an app that imports an app',
    check: 'tree',
    files: { 'apps/voice/planted-app.ts': "await import('@trunkline/agent');\n" },
    names: 'apps/voice/planted-app.ts: imports the app agent',
  },
  {
    rule: 'a page that imports server code',
    check: 'tree',
    files: { 'apps/voice/client/planted.ts': "import '@trunkline/storage';\n" },
    names: 'apps/voice/client/planted.ts: a page imports server code',
  },
  {
    rule: 'fakes outside tests',
    check: 'tree',
    files: { 'apps/voice/planted-fake.ts': "import '@trunkline/testing';\n" },
    names: 'apps/voice/planted-fake.ts: imports testing outside a test',
  },
  {
    rule: 'a path into another package',
    check: 'tree',
    files: { 'apps/voice/planted-path.ts': "import '../../packages/storage/index.ts';\n" },
    names: 'apps/voice/planted-path.ts: imports ../../packages/storage/index.ts',
  },
  {
    rule: 'the outer door used from inside',
    check: 'tree',
    files: { 'packages/storage/planted-door.ts': "import './index.ts';\n" },
    names: 'packages/storage/planted-door.ts: imports its own index.ts',
  },
  {
    rule: 'the size of files',
    check: 'tree',
    files: { 'packages/storage/planted-size.ts': '// line\n'.repeat(401) },
    names: 'packages/storage/planted-size.ts: 401 lines',
  },
  {
    rule: 'import circles of types',
    check: 'tree',
    files: {
      'packages/storage/planted-circle.ts':
        "import type { Other } from './planted-circle-back.ts';\n\nexport type Planted = Other[];\n",
      'packages/storage/planted-circle-back.ts':
        "import type { Planted } from './planted-circle.ts';\n\nexport type Other = Planted;\n",
    },
    names: 'packages/storage/planted-circle-back.ts, which closes an import circle',
  },
  {
    rule: 'private words',
    check: 'tree',
    files: { 'packages/storage/planted-word.ts': 'export interface PlantedSurroundings {}\n' },
    names: 'packages/storage/planted-word.ts: PlantedSurroundings is a private word',
  },
  {
    rule: 'a second copy of a standard mechanism',
    check: 'tree',
    files: { 'packages/storage/planted-copy.ts': 'export class KeyedQueue {}\n' },
    names: 'packages/storage/planted-copy.ts: a second KeyedQueue',
  },
  {
    rule: 'a copy of errorMessage without a name',
    check: 'tree',
    files: {
      'packages/storage/planted-inline.ts':
        'export const planted = (error: unknown) => (error instanceof Error ? error.message : String(error));\n',
    },
    names: 'packages/storage/planted-inline.ts: a copy of errorMessage',
  },
  {
    rule: 'hosts in the lock file',
    check: 'tree',
    files: { 'package-lock.json': '{ "packages": { "a": { "resolved": "https://example.org/a.tgz" } } }\n' },
    names: 'package-lock.json',
  },
  {
    rule: 'a package in the lock file without a hash',
    check: 'lock',
    files: { 'package-lock.json': brokenLock },
    names: 'node_modules/planted has no integrity hash',
  },
  {
    rule: 'a native package of another platform that the lock file lacks',
    check: 'lock',
    files: { 'package-lock.json': brokenLock },
    names: '@planted/darwin-arm64@1.0.0 is not locked',
  },
  {
    rule: 'unused files',
    check: 'unused',
    files: { 'packages/storage/planted.ts': 'export const planted = 1;\n' },
    names: 'packages/storage/planted.ts',
  },
  {
    rule: 'reference pages that are out of date',
    check: 'docs',
    files: { '.env.example': 'STALE=1\n' },
    names: '.env.example',
  },
];

describe('npm run check', () => {
  const outcomes = new Map<string, Outcome>();
  const outcomeOf = (check: string): Outcome => {
    const known = outcomes.get(check);
    if (known) return known;
    const outcome = runWithBreaches(check);
    outcomes.set(check, outcome);
    return outcome;
  };

  it.each(breaches)('finds a breach of: $rule', ({ check, names }) => {
    const { status, output } = outcomeOf(check);
    expect(output).toContain(names);
    expect(output).toContain(`FAILED ${check}`);
    expect(status).toBe(1);
  });

  it('refuses a check that does not exist, with the names of those that do', () => {
    const { status, output } = runCheck(root, 'spelling');
    expect(status).toBe(2);
    expect(output).toContain('There are: types, pages, lint');
  });
});

/** Runs a check once, on a copy of a part of the tree in which every breach of its rules is planted. */
function runWithBreaches(check: string): Outcome {
  const copy = mkdtempSync(join(tmpdir(), 'trunkline-check-'));
  try {
    for (const file of trackedFiles().filter(isCopied(check)))
      cpSync(join(root, file), join(copy, file), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    execFileSync('git', ['init', '-q'], { cwd: copy });
    for (const breach of breaches.filter((one) => one.check === check)) plant(copy, breach.files);
    return runCheck(copy, check);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

// The settings of all checks, and enough sources to plant a breach among; other packages come in by node_modules.
function isCopied(check: string): (file: string) => boolean {
  const folders = ['scripts/check', 'packages/storage/', 'packages/ui/src/'];
  if (check === 'docs') folders.push('scripts/', 'apps/trunkline/', 'docs/', 'security/', 'packages/llm/');
  return (file) =>
    !file.includes('/') ||
    /^(apps|packages)\/[^/]+\/package\.json$/.test(file) ||
    folders.some((folder) => file.startsWith(folder));
}

function trackedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

function plant(copy: string, files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), text);
  }
}

function runCheck(directory: string, check: string): Outcome {
  const result = spawnSync(process.execPath, ['scripts/check.ts', check], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status: result.status, output: result.stdout + result.stderr };
}
