// Runs every check of the tree, or those named on the command line, and says which failed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = process.cwd();
const binaries = join(root, 'node_modules/.bin');

/** Some of them use one core alone. What a check prints is shown when it has ended. */
const AT_ONCE = 2;
const checks: Record<string, string[]> = {
  // Checkers beside each other work out the same types again: two runs of one checker use two cores as well.
  types: ['tsc', '-p', 'tsconfig.json', '--checkers', '1'],
  pages: ['tsc', '-p', 'tsconfig.web.json', '--checkers', '1'],
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
const names = Object.keys(checks).filter((name) => wanted.length === 0 || wanted.includes(name));
const waiting = [...names];
const failed: string[] = [];
await Promise.all(Array.from({ length: AT_ONCE }, runWaiting));
if (failed.length > 0) console.error(`Failed: ${names.filter((name) => failed.includes(name)).join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);

async function runWaiting(): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
    if (!(await passes(name))) failed.push(name);
}

async function passes(name: string): Promise<boolean> {
  const started = performance.now();
  const [command = '', ...args] = checks[name] ?? [];
  const { ok, output } = await run(command, args);
  process.stdout.write(output);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return ok;
}

async function run(command: string, args: string[]): Promise<{ ok: boolean; output: string }> {
  const env = { ...process.env, PATH: `${binaries}:${process.env.PATH}` };
  const child = spawn(command, args, { cwd: root, stdio: ['inherit', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  try {
    const [code] = await once(child, 'close');
    return { ok: code === 0, output };
  } catch (error) {
    return { ok: false, output: `Cannot run ${command}: ${(error as Error).message}\n` };
  }
}
