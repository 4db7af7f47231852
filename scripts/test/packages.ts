import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { checkWeights, installRemedy, type Weights, weights } from '../../apps/voice/speech/weights.ts';

interface MissingPackage {
  name: string;
  hint: string;
}

/** Speech packages that do not come with the service: tests look for them here too (NODE_PATH). `npm ci` removes them. */
export const testPackages = join(import.meta.dirname, '../../node_modules/.cache/trunkline/test-packages');

const root = join(import.meta.dirname, '../..');
const voice = join(root, 'apps/voice');

/** Whether tests of speech may run: false where only paths outside the voice service are named. Other words may match anything. */
export function mayTestSpeech(args: readonly string[]): boolean {
  const isWithin = (path: string, folder: string) => !relative(folder, path).startsWith('..');
  const words = args.flatMap((arg, index) => {
    if (arg.startsWith('-')) return [];
    const path = join(root, arg);
    const isNear = isWithin(path, voice) || isWithin(voice, path);
    // What follows a flag may be its value, and then says nothing about paths.
    if (/^-[^=]*$/.test(args[index - 1] ?? '') && !isNear) return [];
    return [{ isNear, isPath: existsSync(path) }];
  });
  return words.length === 0 || words.some(({ isNear, isPath }) => isNear || !isPath);
}

/** Fetches the speech packages that users install by hand, once, and returns what is still missing. */
export async function ensurePackages(
  entries: readonly Weights[] = weights,
  folder = testPackages,
  install = installInto,
): Promise<MissingPackage[]> {
  const damaged = await damagedPackages(entries);
  const absent = await absentPackages(entries, folder);
  if (absent.length === 0) return damaged;
  let reason = 'what npm installed is not the version that was proven';
  const all = new Set(entries.flatMap((entry) => (entry.version === undefined ? [] : [packageOf(entry)])));
  try {
    console.log(`Fetching ${[...all].join(' and ')} for the tests (npm install) ...`);
    const isWanted = async () => (await absentPackages(entries, folder)).length > 0;
    await installApart(folder, isWanted, (fresh) => install(fresh, [...all]));
  } catch (error) {
    // A failed installation is no failed test: what is missing is named at the end.
    reason = `npm could not install it (${(error as Error).message.trim().split('\n')[0]})`;
  }
  const missing = await absentPackages(entries, folder);
  return [...damaged, ...missing.map((name) => ({ name, hint: skipped(reason) }))];
}

/** Another run may install at the same time, and npm would keep a damaged package of the same version. */
async function installApart(
  folder: string,
  isWanted: () => Promise<boolean>,
  install: (fresh: string) => void,
): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  try {
    install(fresh);
    if (!(await isWanted())) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function skipped(reason: string): string {
  return `Tests of speech with it were skipped: ${reason}.`;
}

/** Node finds a package of the service before one of the tests, also where it is damaged: fetching does not help. */
async function damagedPackages(entries: readonly Weights[]): Promise<MissingPackage[]> {
  const damaged = new Map<string, string>();
  for (const entry of entries.filter(({ version }) => version !== undefined))
    if ((await checkWeights(entry)) === 'damaged')
      damaged.set(packageOf(entry), `the installed one is damaged; ${installRemedy(entry)}`);
  return [...damaged].map(([name, reason]) => ({ name, hint: skipped(reason) }));
}

async function absentPackages(entries: readonly Weights[], folder: string): Promise<string[]> {
  const absent = new Set<string>();
  for (const entry of entries.filter(({ version }) => version !== undefined)) {
    if ((await checkWeights(entry)) !== 'absent') continue;
    const state = await checkWeights(entry, join(folder, 'node_modules', entry.package));
    if (state !== 'ready') absent.add(packageOf(entry));
  }
  return [...absent];
}

function packageOf({ package: name, version }: Weights): string {
  return `${name}@${version}`;
}

/** From the registry that npm is configured for. One that cannot be reached is given up soon. */
function installInto(folder: string, packages: string[]): void {
  const quick = ['--fetch-retries=0', '--fetch-timeout=30000'];
  const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', '--prefix', folder, ...flags, ...quick, ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 300_000,
  });
}
