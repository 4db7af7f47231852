import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';

const script = join(import.meta.dirname, 'builders.js');
const name = '@rolldown/binding-here';

/** An installation without its builder, and an npm whose registry has it. */
function installation(integrity?: string) {
  const { path: root, remove } = temporaryDirectory();
  onTestFinished(remove);
  mkdirSync(join(root, 'node_modules'));
  mkdirSync(join(root, 'package'));
  writeFileSync(join(root, 'package/index.node'), 'native');
  const tarball = join(root, 'registry.tgz');
  execFileSync('tar', ['-czf', tarball, '-C', root, 'package']);
  const own = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
  const entry = {
    version: '1.2.3',
    os: [process.platform],
    cpu: [process.arch],
    integrity: integrity ?? own,
  };
  const packages = {
    [`node_modules/${name}`]: entry,
    'node_modules/@rolldown/binding-elsewhere': { ...entry, cpu: ['wasm32'] },
    'node_modules/weights-of-speech': entry,
  };
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
  const npm = join(root, 'npm.cjs');
  writeFileSync(
    npm,
    `const [, , command, spec, , folder] = process.argv;
     if (command + spec !== 'pack${name}@1.2.3') throw new Error(spec);
     require('node:fs').copyFileSync(${JSON.stringify(tarball)}, folder + '/rolldown-binding-here-1.2.3.tgz');
     console.log(JSON.stringify([{ filename: '${name}-1.2.3.tgz' }]));`,
  );
  const run = (npm_execpath: string) =>
    spawnSync(process.execPath, [script, root], { encoding: 'utf8', env: { ...process.env, npm_execpath } });
  return { run, npm, fetched: (file = '') => join(root, 'node_modules', file) };
}

it('fetches what the builders of the pages need on this machine, and nothing else', () => {
  const { run, npm, fetched } = installation();
  expect(run(npm)).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(fetched(`${name}/index.node`), 'utf8')).toBe('native');
  expect(existsSync(fetched('@rolldown/binding-elsewhere'))).toBe(false);
  expect(existsSync(fetched('weights-of-speech'))).toBe(false);
  // Nothing is fetched twice.
  expect(run('/nowhere')).toMatchObject({ status: 0, stderr: '' });
});

it('installs nothing that is not what the lock file names, and says what to do', () => {
  const forged = installation('sha512-other');
  const { status, stderr } = forged.run(forged.npm);
  expect([status, stderr]).toEqual([0, expect.stringContaining('its checksum is not that of package-lock')]);
  expect(stderr).toContain('Run "npm ci" where the registry can be reached.');
  expect(existsSync(forged.fetched(name))).toBe(false);
  expect(installation().run('/nowhere').stderr).toContain('could not be fetched');
});
