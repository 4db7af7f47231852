// Checks what linters cannot see: layers, the doors of packages, the size of files, and hosts named in the lock file.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importBreaches } from './imports.ts';

const MAXIMUM_LINES = 300;
const root = process.cwd();
const sources = listFiles().filter((file) => /^(apps|packages)\/.*\.(ts|tsx)$/.test(file));

const breaches = [
  ...sources.flatMap((file) => importBreaches(file, read(file), root)),
  ...sources.filter((file) => !/\.test\.tsx?$/.test(file)).flatMap(sizeBreaches),
  ...lockBreaches(),
];
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
