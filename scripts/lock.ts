// Completes package-lock.json: `npm install` leaves out integrity hashes of packages that were on disk already, and
// the native packages of other platforms. Run it after every `npm install`; `npm run check lock` fails without it.
// It works on the folder it runs in: `cd bench/peers && node ../../scripts/lock.ts` after a change there.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lock, type LockEntry, lockProblems, missingOptional, packageName } from './check/lock.ts';

interface Manifest extends LockEntry {
  dist: { integrity: string };
}

const CONCURRENCY = 16;
const path = join(process.cwd(), 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8')) as Lock;
const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();

await addPlatformPackages();
await addHashes();
const packages = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`);
for (const problem of lockProblems(lock)) console.error(problem);
process.exitCode = lockProblems(lock).length > 0 ? 1 : 0;

async function addPlatformPackages(): Promise<void> {
  await forEach(missingOptional(lock), async ({ location, name, version, dev }) => {
    const manifest = await readManifest(name, version);
    if (manifest === undefined) return; // Reported below as not locked.
    const { os, cpu, libc, engines, license, dist } = manifest;
    lock.packages[location] = {
      version,
      integrity: dist.integrity,
      ...(cpu && { cpu }),
      ...(dev && { dev }),
      ...(libc && { libc }),
      ...(license && { license }),
      optional: true,
      ...(os && { os }),
      ...(engines && { engines }),
    };
  });
}

async function addHashes(): Promise<void> {
  const bare = Object.entries(lock.packages).filter(
    ([location, entry]) => location.includes('node_modules/') && !entry.link && !entry.integrity,
  );
  await forEach(bare, async ([location, entry]) => {
    const manifest = await readManifest(packageName(location, entry), entry.version ?? '');
    if (manifest === undefined) return;
    const { version = '', name, ...rest } = entry;
    lock.packages[location] = { ...(name && { name }), version, integrity: manifest.dist.integrity, ...rest };
  });
}

/** Undefined for one that the registry does not have, such as a platform's package that was never released. */
async function readManifest(name: string, version: string): Promise<Manifest | undefined> {
  const url = new URL(`${name.replace('/', '%2f')}/${version}`, registry);
  const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  if (answer.status === 404) return undefined;
  if (!answer.ok) throw new Error(`The registry answered ${answer.status} for ${name}@${version}.`);
  return (await answer.json()) as Manifest;
}

async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
