import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findNode, isRecent } from './find-node.js';

const root = join(import.meta.dirname, '..');
const manifest = JSON.parse(
  execFileSync('cat', [join(root, 'apps/trunkline/package.json')], { encoding: 'utf8' }),
) as {
  version: string;
};

describe('the launcher', () => {
  let scratch: string;
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), 'trunkline-launcher-'));
  });
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  it('takes the Node that npm ci brought before any on the PATH', () => {
    const home = join(scratch, 'bundled');
    const bundled = fakeNode(
      join(home, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin'),
      'v24.1.0',
    );
    const other = fakeNode(join(scratch, 'newer'), 'v26.0.0');
    expect(findNode(home, dirname(other))).toBe(bundled);
  });

  it('passes over Nodes on the PATH that are too old or broken', () => {
    const old = fakeNode(join(scratch, 'old'), 'v20.20.2');
    const broken = fakeNode(join(scratch, 'broken'), 'v99.0.0; exit 1');
    const right = fakeNode(join(scratch, 'right'), 'v25.2.0');
    const path = [old, broken, right].map((file) => dirname(file)).join(delimiter);
    expect(findNode(scratch, path)).toBe(right);
    expect(findNode(scratch, dirname(old))).toBeUndefined();
  });

  it('knows which versions are new enough', () => {
    expect(['24.0.0', '26.10.0'].map(isRecent)).toEqual([true, true]);
    expect(['23.11.1', '20.20.2', ''].map(isRecent)).toEqual([false, false, false]);
  });

  it('asks for npm ci where nothing is installed', () => {
    const bare = join(scratch, 'bare');
    cpSync(join(root, 'bin'), join(bare, 'bin'), { recursive: true });
    writeFileSync(join(bare, 'package.json'), '{ "type": "module" }');
    const { status, stderr } = spawnSync(process.execPath, [join(bare, 'bin/trunkline.js')], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('npm ci');
  });

  const oldNode = findOldNode();
  it.runIf(oldNode)('hands over from an older Node and keeps arguments, output and exit code', () => {
    const version = spawnSync(oldNode ?? '', [join(root, 'bin/trunkline.js'), '--version'], {
      encoding: 'utf8',
    });
    expect(version.stdout.trim()).toBe(manifest.version);
    const wrong = spawnSync(oldNode ?? '', [join(root, 'bin/trunkline.js'), 'dance'], { encoding: 'utf8' });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('There is no command "dance"');
  });

  it.runIf(oldNode)('says in one sentence what to do when there is no newer Node', () => {
    const lone = join(scratch, 'lone');
    cpSync(join(root, 'bin'), join(lone, 'bin'), { recursive: true });
    mkdirSync(join(lone, 'node_modules'));
    writeFileSync(join(lone, 'package.json'), '{ "type": "module" }');
    const { status, stderr } = spawnSync(oldNode ?? '', [join(lone, 'bin/trunkline.js')], {
      encoding: 'utf8',
      env: {},
    });
    expect(status).toBe(1);
    expect(stderr.trim()).toMatch(/^Trunkline needs Node\.js 24 or newer .* install it .*\.$/);
  });
});

// A script that prints a version the way Node does.
function fakeNode(directory: string, version: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'node');
  writeFileSync(file, `#!/bin/sh\necho ${version}\n`);
  chmodSync(file, 0o755);
  return file;
}

function findOldNode(): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'node'));
  return places.find((file) => {
    const { status, stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' });
    return status === 0 && !isRecent(stdout.trim().replace(/^v/, ''));
  });
}
