#!/usr/bin/env node
// Starts Trunkline on Node 24 or newer: the running one, the one npm ci installed, or one on the PATH.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findNode, isRecent, NODE_FLAGS } from './find-node.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BUNDLE = join(root, 'node_modules/.trunkline');

if (!existsSync(join(root, 'node_modules'))) {
  fail('The dependencies are not installed yet: run "npm ci" in the Trunkline folder, then start again.');
} else if (isRecent(process.versions.node)) {
  const cache = enableCompileCache();
  const entry = bundledProgram();
  if (entry === undefined) await import(pathToFileURL(join(root, 'apps/trunkline/main.ts')).href);
  else (await import('./load-program.js')).runProgram(BUNDLE, entry, process.argv[2], cache);
} else {
  const node = findNode(root, process.env.PATH ?? '');
  if (node) run(node);
  else
    fail(
      `Trunkline needs Node.js 24 or newer (this is ${process.versions.node}): install it from nodejs.org.`,
    );
}

// Keeps compiled code between starts, which halves the time to start. Threads find the folder in the environment: one that
// has to compile its sources costs 25 MB and a fifth of a second. Node uses a folder that the user names as it is; the
// bundle's scripts are cached only where nobody else can write.
function enableCompileCache() {
  const given = process.env.NODE_COMPILE_CACHE;
  try {
    const folder = given || cacheFolder();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(folder)) return undefined;
    module.enableCompileCache(folder);
    const directory = module.getCompileCacheDir();
    if (directory === undefined) return undefined;
    // Node makes its folder there as the umask of that start says: what others may have put into it is not run.
    if (!isPrivate(directory)) {
      rmSync(directory, { recursive: true });
      mkdirSync(directory, { mode: 0o700 });
    }
    process.env.NODE_COMPILE_CACHE ||= folder;
    return { directory, isShared: Boolean(given) };
  } catch {
    // The user has no home, or it is read-only: every start compiles.
    return undefined;
  }
}

function cacheFolder() {
  const { XDG_CACHE_HOME = '' } = process.env;
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache'), 'trunkline');
}

// V8 runs what the cache holds. Windows has neither user ids nor these modes; its home folders are private.
function isPrivate(folder) {
  const found = lstatSync(folder);
  if (process.getuid === undefined) return found.isDirectory();
  return found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0;
}

// The bundle that packages/ui/build/program.ts made, where no source has changed since: it starts in half the time.
function bundledProgram() {
  try {
    const { entry, inputs } = JSON.parse(readFileSync(join(BUNDLE, 'program.json'), 'utf8'));
    const isFresh = inputs.every(([path, size, mtimeMs]) => {
      const found = statSync(`${root}/${path}`, { throwIfNoEntry: false });
      return found?.size === size && found.mtimeMs === mtimeMs;
    });
    return isFresh ? entry : undefined;
  } catch (error) {
    if (error.code !== 'ENOENT') console.error(`The bundle in ${BUNDLE} cannot be read: ${error.message}`);
    return undefined;
  }
}

// Hands over to the newer Node; a terminal sends Ctrl-C to both processes, other signals are passed on. The channel
// closes when this process ends, also by kill -9, and tells launched.js so.
function run(node) {
  const child = spawn(node, [...NODE_FLAGS, join(root, 'bin/launched.js'), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  child.on('error', (error) => fail(`Cannot start ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
    process.exit();
  });
}

function fail(words) {
  console.error(words);
  process.exit(1);
}
