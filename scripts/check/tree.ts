// Checks what linters cannot see: layers, the doors of packages, import circles, the size of files, private words, second
// copies of what packages/std has, and hosts named in the lock file.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importBreaches } from './imports.ts';
import { circleBreaches, copyBreaches, dialectBreaches } from './shape.ts';

const MAXIMUM_LINES = 400;
const root = process.cwd();
const sources = listFiles().filter((file) => /^(apps|packages)\/.*\.(ts|tsx)$/.test(file));
const shipped = sources.filter(
  (file) => !/\.(test|suite)\.tsx?$|\/fixtures\/|^packages\/testing\//.test(file),
);

const rules: Record<string, () => string[]> = {
  imports: () => sources.flatMap((file) => importBreaches(file, read(file), root)),
  size: () => sources.filter((file) => !/\.test\.tsx?$/.test(file)).flatMap(sizeBreaches),
  circles: () => circleBreaches(new Map(shipped.map((file) => [file, read(file)]))),
  words: () => shipped.flatMap((file) => dialectBreaches(file, read(file))),
  copies: () => shipped.flatMap((file) => copyBreaches(file, read(file))),
  lock: lockBreaches,
};

const breaches = Object.values(rules).flatMap((find) => find());
for (const breach of breaches) console.error(breach);
process.exit(breaches.length > 0 ? 1 : 0);

function listFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

function sizeBreaches(file: string): string[] {
  const lines = read(file).split('\n').length - 1;
  if (lines <= MAXIMUM_LINES) return [];
  return [`${file}: ${lines} lines; split it by subject, at most ${MAXIMUM_LINES} lines a file`];
}

function lockBreaches(): string[] {
  const resolved = /"resolved": "https?:/.exec(read('package-lock.json'));
  return resolved
    ? ['package-lock.json: names where packages were downloaded from; .npmrc must omit it']
    : [];
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
