// Runs every test, or those named on the command line; sees first to what they need; ends with "N passed, N failed".
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rename, rm, statfs } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isSlow, selectChanged } from './test/changed.ts';
import type { Counts } from './test/counts-reporter.ts';
import { writeDurations } from './test/durations.ts';
import { ensurePackages, mayTestSpeech, testPackages } from './test/packages.ts';
import { ensureTools } from './test/tools.ts';

const HELP = `npm test                    runs every test
npm test -- packages/bus    runs those whose path holds the words
npm test -- --changed       runs what differs from main in about two minutes: tests beside it, then the nearest that import it
npm test -- --durations     runs every test and records how long each file took, which --changed and the order go by
npm test -- --project plain runs one kind (plain, isolated, browser, live); other flags go to vitest`;

const MEMORY = '/dev/shm';
const ROOM_BYTES = 4 * 1024 ** 3;
/** Of all tests but the live ones: while these run, the others get the processor time that they leave. */
const NICENESS = 15;
/** With one worker more for the others, which take longer in all, both end at about the same time. */
const ISOLATED_WORKERS = '3';
const OTHER_WORKERS = '4';
const root = join(import.meta.dirname, '..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const args = process.argv.slice(2).filter((arg) => arg !== '--durations');
const isRecorded = process.argv.includes('--durations');
if (args.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
if (isRecorded && args.length > 0) {
  console.error(
    `--durations records a run of every test, so it takes no other arguments: leave ${args.join(' ')} out.`,
  );
  process.exit(2);
}
const missing = [...ensureTools(), ...(mayTestSpeech(args) ? await ensurePackages() : [])];
const scratch = await mkdtemp(join(await scratchParent(), 'test-'));
// As /tmp is: some tests work as another user.
await chmod(scratch, 0o1777);
// An interrupt ends the tests; what they left behind is removed then.
process.once('SIGINT', () => undefined);
/** Where each run of vitest leaves its figures. */
const countsFiles: string[] = [];
const exitCode = await runTests();
const runs = countsFiles.map(readCounts);
if (isRecorded && runs.every(({ seconds }) => Object.keys(seconds).length > 0))
  writeDurations(Object.assign({}, ...runs.map(({ seconds }) => seconds)));
else if (isRecorded)
  console.error('A run of vitest ended before it could count, so no durations were recorded.');
report(runs);
await rm(scratch, { recursive: true, force: true });
process.exit(exitCode);

/** Files of tests lie in memory where there is room for them: databases would wait for the disk at every start and stop. */
async function scratchParent(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY);
    if (bavail * bsize >= ROOM_BYTES) return MEMORY;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return tmpdir();
}

/** Otherwise the first tests that need them build them all at once. What cannot be built fails in those tests. */
async function buildPages(): Promise<void> {
  const builder = spawn(process.execPath, [join(root, 'packages/ui/build/main.ts')], { stdio: 'inherit' });
  await once(builder, 'exit');
}

async function runTests(): Promise<number> {
  if (args.includes('--changed')) return await runChanged();
  if (args.length > 0) return await runVitest(args);
  await buildPages();
  await bundleMcpProgram();
  return await runAll();
}

/** Many tests start it: in one file it loads in a quarter of the processor time of its sources, which do as well. */
async function bundleMcpProgram(): Promise<void> {
  // Among the packages, which programs in a sandbox see.
  const file = join(root, 'node_modules/.cache/trunkline/mcp-program.mjs');
  // Put into place whole: the tests of another run may start it meanwhile.
  const written = file.replace(/mjs$/, `${process.pid}.mjs`);
  const source = join(root, 'packages/testing/mcp/program.ts');
  const bundler = spawn(
    process.execPath,
    [
      join(root, 'node_modules/rolldown/bin/cli.mjs'),
      source,
      '--file',
      written,
      '--platform',
      'node',
      '--minify',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  try {
    const [code] = await once(bundler, 'exit');
    if (code !== 0) throw new Error(`the bundler ended with ${code}`);
    await rename(written, file);
    // Doctor would report a name that looks like a setting.
    process.env.TEST_MCP_PROGRAM = file;
  } catch (error) {
    console.error(`The MCP program of the tests is not bundled and runs from its sources: ${error}`);
    await rm(written, { force: true });
  }
}

/**
 * Three runs beside each other. Live sound keeps to its time, one call after the other. Isolated tests begin when it is
 * over, as beside it the processes that they start would hardly get on. They mostly wait, for a process to end or a lease
 * to run out: the others use the processor meanwhile. What the first two print follows at the end.
 */
async function runAll(): Promise<number> {
  const live = runQuietly('live.txt', ['--project', 'live']);
  setPriority(NICENESS);
  const isolated = live.then(() =>
    runQuietly('isolated.txt', ['--project', 'isolated', '--maxWorkers', ISOLATED_WORKERS]),
  );
  const others = runVitest(['--project', 'plain', '--project', 'browser', '--maxWorkers', OTHER_WORKERS]);
  const codes = [await others, await isolated, await live];
  for (const name of ['isolated.txt', 'live.txt']) process.stdout.write(readFileSync(join(scratch, name)));
  return Math.max(...codes);
}

/** Started when this returns, so that it keeps the priority of this moment. */
function runQuietly(name: string, given: string[]): Promise<number> {
  const file = openSync(join(scratch, name), 'w');
  return runVitest(given, file).finally(() => closeSync(file));
}

async function runChanged(): Promise<number> {
  const { chosen, leftOut } = selectChanged();
  nameLeftOut('Slow tests that may be touched, not run', leftOut.filter(isSlow));
  nameLeftOut(
    'Tests that import a change from afar, not run for want of time',
    leftOut.filter((test) => !isSlow(test)),
  );
  if (chosen.length > 0) return await runVitest([...args.filter((arg) => arg !== '--changed'), ...chosen]);
  console.log('No test is touched by what changed.');
  return 0;
}

function nameLeftOut(title: string, tests: string[]): void {
  if (tests.length > 0) console.log(`${title} (${tests.length}):\n  ${tests.join('\n  ')}`);
}

function runVitest(given: string[], output: number | 'inherit' = 'inherit'): Promise<number> {
  const countsFile = join(scratch, `counts-${countsFiles.length}.json`);
  countsFiles.push(countsFile);
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts/test/counts-reporter.ts')}`];
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...given], {
    stdio: ['inherit', output, output],
    // Processes that tests start need not compile again what another has compiled.
    env: {
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
      ...process.env,
      TMPDIR: scratch,
      TRUNKLINE_TEST_COUNTS: countsFile,
      NODE_PATH: [join(testPackages, 'node_modules'), process.env.NODE_PATH].filter(Boolean).join(delimiter),
    },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

// A runner that died before it could count is one failure.
function readCounts(file: string): Counts {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Counts;
  } catch {
    const failures = [`a run of vitest ended before it could count: ${file}`];
    return { passed: 0, failed: 1, skipped: [], failures, seconds: {} };
  }
}

function report(runs: Counts[]): void {
  const total = (key: 'passed' | 'failed') => runs.reduce((sum, counts) => sum + counts[key], 0);
  const skipped = runs.flatMap((counts) => counts.skipped);
  for (const tool of missing) console.log(`Not on this machine: ${tool.name}. ${tool.hint}`);
  for (const title of skipped) console.log(`Skipped: ${title}`);
  for (const failure of runs.flatMap(({ failures }) => failures)) console.log(`Failed: ${failure}`);
  const closing = `${total('passed')} passed, ${total('failed')} failed`;
  console.log(skipped.length > 0 ? `${closing}, ${skipped.length} skipped` : closing);
}
