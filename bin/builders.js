// Runs after `npm ci`: fetches the native parts of the pages' builders where --omit=optional left them out with all other
// optional packages. They come as the lock file names them, with its checksums, from the registry that npm uses.
// npm runs it, also with Node 20, so it is plain JavaScript. It never fails an installation.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { arch, argv, env, execPath, platform, report } from 'node:process';
import { fileURLToPath } from 'node:url';

const LIMIT_MS = 120_000;
const BUILDERS =
  /(?:^|\/)node_modules\/(@rolldown\/binding-[^/]+|lightningcss-[^/]+|@tailwindcss\/oxide-[^/]+)$/;

const root = resolve(argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..'));

for (const [path, entry] of missingBuilders()) {
  const name = BUILDERS.exec(path)[1];
  try {
    fetchPackage(name, entry, join(root, path));
  } catch (error) {
    console.warn(
      `The pages cannot be built, as ${name} could not be fetched (${error.message.trim()}). Run "npm ci" where the registry can be reached.`,
    );
  }
}

function missingBuilders() {
  if (!existsSync(join(root, 'package-lock.json'))) return [];
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).filter(
    ([path, entry]) =>
      BUILDERS.test(path) &&
      runsHere(entry) &&
      // The builder that loads it is installed, and it is not.
      existsSync(join(root, path.slice(0, path.lastIndexOf('node_modules')), 'node_modules')) &&
      !existsSync(join(root, path)),
  );
}

function runsHere({ os = [], cpu = [], libc = [] }) {
  const isGlibc = () => report.getReport().header.glibcVersionRuntime !== undefined;
  return (
    os.includes(platform) &&
    cpu.includes(arch) &&
    (libc.length === 0 || libc.includes(isGlibc() ? 'glibc' : 'musl'))
  );
}

function fetchPackage(name, { version, integrity }, target) {
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(root, 'node_modules/.fetched-'));
  try {
    const packed = run([
      env.npm_execpath,
      'pack',
      `${name}@${version}`,
      '--pack-destination',
      folder,
      '--json',
    ]);
    const file = join(folder, JSON.parse(packed)[0].filename.replace('@', '').replace('/', '-'));
    if (`sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}` !== integrity)
      throw new Error('its checksum is not that of package-lock.json');
    const { status, stderr } = spawnSync('tar', ['-xzf', file, '-C', folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr || 'tar is not installed');
    renameSync(join(folder, 'package'), target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(args) {
  if (args[0] === undefined) throw new Error('npm did not start this');
  const { status, stdout, stderr, error } = spawnSync(execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  if (status !== 0) throw new Error(error?.message ?? stderr.trim().split('\n')[0] ?? 'npm failed');
  return stdout;
}
