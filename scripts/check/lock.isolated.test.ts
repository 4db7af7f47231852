import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lock, lockProblems } from './lock.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

it('every package of package-lock.json has a hash, on every platform', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  expect(Object.keys(lock.packages).length).toBeGreaterThan(700);
  expect(lockProblems(lock)).toEqual([]);
});

/** npm with this repository's .npmrc and a lock file like ours (no addresses), against a registry on loopback. */
describe('npm ci', () => {
  const directory = temporaryDirectory();
  const registry = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) return void response.end(tarball);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(packument(`http://${request.headers.host}`)));
  });
  let tarball: Buffer;

  beforeAll(async () => {
    const source = join(directory.path, 'tiny');
    mkdirSync(source);
    writeFileSync(join(source, 'package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }));
    execFileSync('npm', ['pack', '--silent'], { cwd: source });
    tarball = readFileSync(join(source, 'tiny-1.0.0.tgz'));
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    registry.closeAllConnections();
    registry.close();
    directory.remove();
  });

  it('installs a package whose hash is the locked one', async () => {
    const project = projectWith('right', hashOf(tarball));
    await install(project);
    expect(readFileSync(join(project, 'node_modules/tiny/package.json'), 'utf8')).toContain('1.0.0');
  });

  it('fails on a package whose hash is another', async () => {
    const project = projectWith('wrong', hashOf(Buffer.from('another')));
    await expect(install(project)).rejects.toMatchObject({ stderr: expect.stringContaining('EINTEGRITY') });
  });

  function packument(address: string): object {
    const dist = { tarball: `${address}/tiny/-/tiny-1.0.0.tgz`, integrity: hashOf(tarball) };
    const manifest = { name: 'tiny', version: '1.0.0', dist };
    return { name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': manifest } };
  }

  function projectWith(name: string, integrity: string): string {
    const project = join(directory.path, name);
    mkdirSync(project);
    copyFileSync(join(root, '.npmrc'), join(project, '.npmrc'));
    const manifest = { name: 'project', version: '1.0.0', dependencies: { tiny: '1.0.0' } };
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    const packages = { '': manifest, 'node_modules/tiny': { version: '1.0.0', integrity } };
    const lock = { name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock));
    return project;
  }

  function install(project: string) {
    const { port } = registry.address() as AddressInfo;
    const flags = ['--registry', `http://127.0.0.1:${port}`, '--cache', join(project, 'cache')];
    return run('npm', ['ci', ...flags], { cwd: project });
  }
});

function hashOf(content: Buffer): string {
  return `sha512-${createHash('sha512').update(content).digest('base64')}`;
}
