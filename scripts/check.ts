// Runs every check of the tree, or those named on the command line, and says which failed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = process.cwd();
const binaries = join(root, 'node_modules/.bin');

const checks: Record<string, string[]> = {
  types: ['tsc', '-p', 'tsconfig.json'],
  pages: ['tsc', '-p', 'tsconfig.web.json'],
  lint: ['biome', 'ci', '--error-on-warnings', '--diagnostic-level=warn', '--max-diagnostics=200', '.'],
  promises: ['oxlint', '--type-aware', '--deny-warnings'],
  tree: [process.execPath, 'scripts/check/tree.ts'],
  lock: [process.execPath, 'scripts/check/lock.ts'],
  size: [process.execPath, 'scripts/check/size.ts'],
  licences: [process.execPath, 'scripts/sbom.ts', '--check'],
  unused: ['knip', '--no-progress', '--no-config-hints'],
  docs: [process.execPath, 'scripts/docs.ts', '--check'],
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in checks));
if (unknown.length > 0) {
  console.error(`No check is called ${unknown.join(', ')}. There are: ${Object.keys(checks).join(', ')}.`);
  process.exit(2);
}
const failed = Object.keys(checks).filter(
  (name) => (wanted.length === 0 || wanted.includes(name)) && !passes(name),
);
if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);

function passes(name: string): boolean {
  const started = performance.now();
  const [command = '', ...args] = checks[name] ?? [];
  const ok = run(command, args);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return ok;
}

function run(command: string, args: string[]): boolean {
  const env = { ...process.env, PATH: `${binaries}:${process.env.PATH}` };
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', env });
  if (result.error) console.error(`Cannot run ${command}: ${result.error.message}`);
  return result.status === 0;
}
