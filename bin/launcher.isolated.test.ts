import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { temporaryHome, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findNode, isRecent, NODE_FLAGS } from './find-node.js';

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

  it('starts services everywhere with the same options of Node', () => {
    const files = ['package.json', 'Dockerfile', 'deploy/trunkline.service'];
    const starts = files.flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .filter((line) => /bin\/trunkline\.js("\]| (?:up|voice|agent|research|switchboard)\b)/.test(line)),
    );
    expect(starts).toHaveLength(7);
    for (const start of starts) for (const flag of NODE_FLAGS) expect(start).toContain(flag);
    const { status, stderr } = spawnSync(process.execPath, [...NODE_FLAGS, '--version'], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
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

  const pretended = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.19.0"})';
  // Where there is no older Node, this one says that it is.
  const launcherNode = oldNode === undefined ? [process.execPath, '--import', pretended] : [oldNode];
  const inputs = [
    { input: '/dev/null as its input', redirect: '< /dev/null' },
    { input: 'its input closed', redirect: '<&-' },
    { input: 'a pipe as its input', redirect: '' },
  ];

  it.each(inputs)(
    'ends the service with itself when it is killed, and not before, with $input',
    async ({ redirect }) => {
      const home = temporaryHome();
      onTestFinished(() => home.remove());
      const words = [...launcherNode, join(root, 'bin/trunkline.js'), 'agent'];
      const start = () =>
        spawn('sh', ['-c', `exec "$@" ${redirect}`, 'sh', ...words], {
          env: { ...process.env, ...home.environment, ...service },
        });
      const launcher = start();
      const url = await addressOf(launcher);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      const [serving = 0, ...others] = childrenOf(launcher.pid ?? 0);
      expect([isAlive(serving), others]).toEqual([true, []]);
      launcher.kill('SIGKILL');
      await waitFor(() => !isAlive(serving));
      await expect(fetch(`${url}/healthz`)).rejects.toThrow();
      // Its data is free again, and a signal still ends both.
      const next = start();
      await addressOf(next);
      const [successor = 0] = childrenOf(next.pid ?? 0);
      const exited = once(next, 'exit');
      next.kill('SIGTERM');
      expect((await exited)[0]).toBe(0);
      await waitFor(() => !isAlive(successor));
    },
  );

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

const service = {
  AGENT_PORT: '0',
  CORE_UI: 'none',
  LLM_GATEWAY_URL: 'http://127.0.0.1:9/v1',
  LLM_API_KEY: 'k',
};

async function addressOf(launcher: ChildProcess): Promise<string> {
  let output = '';
  for (const stream of [launcher.stdout, launcher.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const found = () => /^http:\/\/\S+$/m.exec(output)?.[0];
  const isOver = () => launcher.exitCode !== null || launcher.signalCode !== null;
  await waitFor(() => found() !== undefined || isOver(), { timeoutMs: 60_000 });
  const address = found();
  if (address === undefined) throw new Error(`The launcher ended:\n${output}`);
  return address;
}

function childrenOf(pid: number): number[] {
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const pairs = listed.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}

/** A process that has ended and that nobody has asked about yet, as in a container without an init, is not alive. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}

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
