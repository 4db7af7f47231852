#!/usr/bin/env node
// Starts Trunkline on Node 24 or newer: the running one, the one npm ci installed, or one on the PATH.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findNode, isRecent } from './find-node.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

if (!existsSync(join(root, 'node_modules'))) {
  fail('The dependencies are not installed yet: run "npm ci" in the Trunkline folder, then start again.');
} else if (isRecent(process.versions.node)) {
  keepCompiledSources();
  await import(pathToFileURL(bundledProgram() ?? join(root, 'apps/trunkline/main.ts')).href);
} else {
  const node = findNode(root, process.env.PATH ?? '');
  if (node) run(node);
  else
    fail(
      `Trunkline needs Node.js 24 or newer (this is ${process.versions.node}): install it from nodejs.org.`,
    );
}

// Between starts, which halves the time to start. Threads find the place in the environment: one that has to compile
// its sources costs 25 MB and a fifth of a second.
function keepCompiledSources() {
  const { directory } = module.enableCompileCache?.() ?? {};
  if (directory) process.env.NODE_COMPILE_CACHE ||= directory;
}

// The bundle that packages/ui/build/program.ts made, where no source has changed since: it starts in half the time.
function bundledProgram() {
  const directory = join(root, 'node_modules/.trunkline');
  try {
    const { entry, inputs } = JSON.parse(readFileSync(join(directory, 'program.json'), 'utf8'));
    const isFresh = inputs.every(([path, size, mtimeMs]) => {
      const found = statSync(`${root}/${path}`, { throwIfNoEntry: false });
      return found?.size === size && found.mtimeMs === mtimeMs;
    });
    return isFresh ? join(directory, entry) : undefined;
  } catch (error) {
    if (error.code !== 'ENOENT') console.error(`The bundle in ${directory} cannot be read: ${error.message}`);
    return undefined;
  }
}

// Hands over to the newer Node; a terminal sends Ctrl-C to both processes, other signals are passed on. The channel
// closes when this process ends, also by kill -9, and tells launched.js so.
function run(node) {
  const child = spawn(node, [join(root, 'bin/launched.js'), ...process.argv.slice(2)], {
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
