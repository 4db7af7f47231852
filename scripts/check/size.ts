// Fails when what `npm ci` installs takes more of the disk than we promise in the README.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const MOST_MB = 1200;
/** What tests and tools leave behind. */
const CACHES = ['.cache', '.vite', '.vitest-cache'];

const sizes = readdirSync('node_modules')
  .filter((name) => !CACHES.includes(name))
  .map((name) => ({ name, megabytes: bytesOf(join('node_modules', name)) / 1e6 }));
const total = sizes.reduce((sum, { megabytes }) => sum + megabytes, 0);
if (total > MOST_MB) {
  const largest = sizes.sort((a, b) => b.megabytes - a.megabytes).slice(0, 8);
  console.error(
    `node_modules holds ${Math.round(total)} MB, at most ${MOST_MB} are promised: leave out what nobody runs (bin/prune.js), or run "npm ci" if something was installed by hand.`,
  );
  for (const { name, megabytes } of largest) console.error(`  ${name} ${Math.round(megabytes)} MB`);
  process.exitCode = 1;
}

function bytesOf(path: string): number {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}
