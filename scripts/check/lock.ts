import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface LockEntry {
  name?: string;
  version?: string;
  integrity?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  license?: string;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  engines?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export interface Lock {
  packages: Record<string, LockEntry>;
}

export interface MissingOptional {
  /** Where the entry belongs: beside the package that wants it. */
  location: string;
  name: string;
  version: string;
  dev: boolean | undefined;
}

/** Platforms that `npm ci` must serve; a lock file without their native packages fails there and nowhere else. */
const PLATFORM =
  /linux-(x64|arm64)(-gnu|-musl)?$|(darwin|mac)-(x64|arm64)(-metal)?$|win(32)?-(x64|arm64)(-msvc)?$/;
const EXACT = /^\d+\.\d+\.\d+[\w.+-]*$/;

/** What keeps `npm ci` from verifying every package, on every platform. */
export function lockProblems(lock: Lock): string[] {
  const bare = Object.entries(lock.packages)
    .filter(([location, entry]) => location.includes('node_modules/') && !entry.link && !entry.integrity)
    .map(([location]) => `${location} has no integrity hash`);
  const missing = missingOptional(lock).map(({ name, version }) => `${name}@${version} is not locked`);
  return [...bare, ...missing];
}

/** Native packages that an entry names and the lock file lacks. */
export function missingOptional({ packages }: Lock): MissingOptional[] {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {}, dev }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => PLATFORM.test(name) && EXACT.test(version))
      .filter(([name, version]) => lookUp(packages, parent, name)?.version !== version)
      .map(([name, version]) => ({ location: beside(parent, name), name, version, dev })),
  );
}

/** The entry that Node finds when the parent imports the package. */
function lookUp(packages: Lock['packages'], parent: string, name: string): LockEntry | undefined {
  for (let folder = parent; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    const entry = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`];
    if (entry !== undefined || folder === '') return entry;
  }
}

function beside(parent: string, name: string): string {
  const end = parent.lastIndexOf('node_modules/');
  return `${end < 0 ? '' : parent.slice(0, end)}node_modules/${name}`;
}

export function packageName(location: string, entry: LockEntry): string {
  return entry.name ?? location.slice(location.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

if (import.meta.main) {
  const lock = JSON.parse(readFileSync(join(process.cwd(), 'package-lock.json'), 'utf8')) as Lock;
  const problems = lockProblems(lock);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) console.error('Run "npm run lock" to complete package-lock.json.');
  process.exitCode = problems.length > 0 ? 1 : 0;
}
