// Finds a Node.js binary of version 24 or newer: the one that npm ci brought, else one on the PATH.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const REQUIRED_MAJOR = 24;

// For services. Node's default lets the space of new objects grow to 128 MB, where nearly all is garbage: a busy agent takes
// a fifth less memory with this (docs/benchmarks.md). It cannot be set in a running process, so package.json, the Dockerfile
// and deploy/trunkline.service have it too.
export const NODE_FLAGS = ['--max-semi-space-size=16'];

export function findNode(root, path) {
  const bundled = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  const onPath = path
    .split(delimiter)
    .filter(Boolean)
    .map((directory) => join(directory, executableName()));
  return [bundled, ...onPath].find((file) => existsSync(file) && isRecent(versionOf(file)));
}

export function isRecent(version) {
  return Number.parseInt(version, 10) >= REQUIRED_MAJOR;
}

function executableName() {
  return process.platform === 'win32' ? 'node.exe' : 'node';
}

// An unusable binary counts as too old.
function versionOf(file) {
  try {
    const output = execFileSync(file, ['--version'], {
      encoding: 'utf8',
      timeout: 5000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return output.trim().replace(/^v/, '');
  } catch {
    return '0';
  }
}
