// Runs after `npm ci`: builds the pages and bundles the program, so that the first start is as quick as the others.
// npm runs it, also with Node 20, so it is plain JavaScript. It never fails an installation: a start builds pages that are
// missing, and runs the sources where there is no bundle.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { env, execPath, versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import { findNode, isRecent } from './find-node.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const builder = join(root, 'packages/ui/build/main.ts');
const node = isRecent(versions.node) ? execPath : findNode(root, env.PATH ?? '');

if (node && existsSync(builder)) {
  const { status, stderr, error } = spawnSync(node, [builder], { encoding: 'utf8', timeout: 300_000 });
  if (status !== 0)
    console.warn(`The pages are built at the first start: ${(error?.message ?? stderr).trim()}`);
}
