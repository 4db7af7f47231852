import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { findIsolation, probe } from './availability.ts';
import type { SandboxLimits } from './resource-limits.ts';
import { outcomeOf, shellScript } from './sandbox.suite.ts';
import { createSandbox } from './sandbox.ts';

const isolation = await findIsolation();
const missing = isolation.kind === 'none' ? isolation.reason : '';
const home = temporaryDirectory();
const sandbox = createSandbox({ mode: 'require' });
afterAll(() => home.remove());

const start = (script: string, limits: SandboxLimits) =>
  sandbox.start(shellScript(script, home.path, { limits }));
const run = async (script: string, limits: SandboxLimits) => await outcomeOf(await start(script, limits));

describe(`limits of the sandbox${missing && ` (skipped: ${missing})`}`, () => {
  beforeEach(({ skip }) => skip(missing !== '', missing));

  it('end a fork bomb, and every process of it', async () => {
    const sleep = `5${process.pid}`;
    // Bounded, so that a machine on which the limit fails goes on working.
    const bomb = `i=0; while [ $i -lt 500 ]; do sleep ${sleep} & i=$((i + 1)); done; wait`;
    const { code, output, exceeded } = await run(bomb, { processes: 50, seconds: 60 });
    expect(exceeded ?? output).toMatch(/Cannot fork|it started more than 50 processes/);
    expect(code).not.toBe(0);
    await waitFor(() => !commandLines().some((line) => line.includes(`sleep\0${sleep}`)));
  });

  it('refuse memory to one process, and end many that take it together', async () => {
    const one = await run('python3 -c "print(len(bytearray(1500 * 1024 * 1024)))"', { memoryMb: 300 });
    expect(one.code).toBe(1);
    expect(one.output).toContain('MemoryError');
    const fill = 'import time; x = bytearray(b"x" * (150 * 1024 * 1024)); time.sleep(60)';
    const many = await run(`for i in 1 2 3 4; do python3 -c '${fill}' & done; wait`, { memoryMb: 300 });
    expect(many.exceeded).toBe('it used more than 300 MB of memory');
    expect(many.code).toBe('SIGKILL');
  });

  it('end what works too much or takes too long, with all that it started', async () => {
    const busy = 'while :; do :; done';
    const { code, exceeded } = await run(`${busy} & ${busy}`, { cpuSeconds: 1, seconds: 60 });
    expect(exceeded ?? 'killed by the kernel').toMatch(/1 s of processor time|killed by the kernel/);
    expect(code).not.toBe(0);
    const sleep = `6${process.pid}`;
    const late = await run(`setsid sleep ${sleep} & echo started; sleep ${sleep}`, { seconds: 2 });
    expect(late).toMatchObject({ code: 'SIGKILL', exceeded: 'it took longer than 2 s' });
    await waitFor(() => !commandLines().some((line) => line.includes(`sleep\0${sleep}`)));
  });

  it('bound the size of a file, of /tmp and of shared memory', async () => {
    const { output } = await run(
      `head -c 3000000 /dev/zero > large; ls -l large | cut -d' ' -f5
       df -k /tmp /dev/shm | tail -2 | awk '{ print $2 }'`,
      { fileMb: 1 },
    );
    expect(output.match(/\d{4,}/g)).toEqual(['1048576', '524288', '65536']);
  });

  it('leave Node and its worker threads room', async () => {
    const program = `
      const { Worker } = require('node:worker_threads');
      new Worker('require("node:worker_threads").parentPort.postMessage(1)', { eval: true }).on('message', () => console.log('worked'));`;
    writeFileSync(join(home.path, 'work.cjs'), program);
    const running = await sandbox.start({
      ...shellScript('', home.path, { limits: { memoryMb: 512, processes: 64 } }),
      command: process.execPath,
      args: ['work.cjs'],
    });
    expect(await outcomeOf(running)).toMatchObject({ code: 0, output: 'worked\n' });
  });

  it('and the sandbox end with the service, also when that is killed', async () => {
    const sleep = `7${process.pid}`;
    const script = `
      import { createSandbox } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
      const { child } = await createSandbox({ mode: 'require' }).start({ command: '/bin/sh',
        args: ['-c', 'setsid sleep ${sleep} & echo there; wait'], cwd: '/tmp', env: { PATH: '/usr/bin:/bin' }, writable: [], network: 'none' });
      child.stdout.once('data', () => process.kill(process.pid, 'SIGKILL'));`;
    expect(() => execFileSync(process.execPath, ['--input-type=module', '-e', script])).toThrow(
      /SIGKILL|Command failed/,
    );
    await waitFor(() => !commandLines().some((line) => line.includes(`sleep\0${sleep}`)));
  });
});

const isRoot = process.getuid?.() === 0;

describe(`the sandbox of an unprivileged account${missing && ` (skipped: ${missing})`}`, () => {
  beforeEach(({ skip }) => skip(missing !== '' || !isRoot, missing || 'the other tests run as one already'));

  it('works without root, and a fork bomb runs into the limit of processes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'trunkline-nobody-'));
    chmodSync(folder, 0o777);
    const script = `
      import { createSandbox } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
      const sandbox = createSandbox({ mode: 'require' });
      const shell = (text) => ({ command: '/bin/sh', args: ['-c', text], cwd: ${JSON.stringify(folder)},
        env: { PATH: '/usr/bin:/bin' }, writable: [${JSON.stringify(folder)}], network: 'none',
        limits: { processes: 20, memoryMb: 300, seconds: 30 } });
      for (const text of ['id -u; touch made; ulimit -d', 'i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done']) {
        const { child } = await sandbox.start(shell(text));
        child.stdout.pipe(process.stdout); child.stderr.pipe(process.stdout);
        await new Promise((resolve) => child.once('close', resolve));
      }`;
    // The tests' Node may lie in a folder that the account cannot enter; the loader reads it as root.
    const output = execFileSync(
      'setpriv',
      [
        '--reuid',
        '65534',
        '--regid',
        '65534',
        '--clear-groups',
        process.execPath,
        '--input-type=module',
        '-e',
        script,
      ],
      { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } },
    );
    expect(output).toMatch(/^1000\n1355776\n/);
    expect(output).toContain('Cannot fork');
    expect(readdirSync(folder)).toEqual(['made']);
    rmSync(folder, { recursive: true });
  });
});

describe('where there is no sandbox', () => {
  const without = { kind: 'none', reason: 'bubblewrap is not installed (apt install bubblewrap)' } as const;
  const request = () => shellScript('echo plain', home.path, { env: { PATH: '/usr/bin:/bin', GIVEN: '1' } });

  it.each(['auto', 'require'] as const)('%s refuses every program, and names the ways out', async (mode) => {
    const refusing = createSandbox({ mode, isolation: without });
    const waysOut =
      /bubblewrap is not installed \(apt install bubblewrap\)\. Install bubblewrap .* SANDBOX_IMAGE .*TRUNKLINE_SANDBOX=off for all, "sandbox: off" .* one/;
    for (const each of [request(), { ...request(), channel: true, stdin: 'pipe' as const }])
      await expect(refusing.start(each)).rejects.toThrow(waysOut);
    await expect(refusing.checkPlain({ command: 'npx' })).rejects.toThrow(waysOut);
    const permitted = refusing.checkPlain({ command: 'npx', isolate: false });
    if (mode === 'auto') await permitted;
    else await expect(permitted).rejects.toThrow('TRUNKLINE_SANDBOX=require');
    await createSandbox({ mode: 'off', isolation: without }).checkPlain({ command: 'npx' });
    expect(await refusing.status()).toMatchObject({
      isolated: false,
      refuses: true,
      words: expect.stringContaining('are refused'),
      advice: expect.stringContaining('TRUNKLINE_SANDBOX=off'),
    });
    const exempt = refusing.start({ ...request(), isolate: false });
    if (mode === 'auto') expect(await outcomeOf(await exempt)).toMatchObject({ output: 'plain\n' });
    else await expect(exempt).rejects.toThrow('TRUNKLINE_SANDBOX=require');
  });

  it('off never isolates; a program whose settings turn it off is refused by require alone', async () => {
    const off = createSandbox({ mode: 'off' });
    expect((await off.start(request())).isolated).toBe(false);
    expect((await off.status()).words).toContain('TRUNKLINE_SANDBOX=off');
    await expect(sandbox.start({ ...request(), isolate: false })).rejects.toThrow(
      /TRUNKLINE_SANDBOX=require/,
    );
    const auto = await createSandbox({ mode: 'auto' }).start({ ...request(), isolate: false });
    expect(auto.isolated).toBe(false);
  });

  it('names what is missing', async () => {
    expect(await probe('/nonexistent')).toMatchObject({
      kind: 'none',
      reason: expect.stringMatching(/bubblewrap/),
    });
    for (const platform of ['win32', 'darwin'] as const)
      expect(await probe('/usr/bin', undefined, '', platform)).toEqual({
        kind: 'none',
        reason: `bubblewrap runs on Linux only, and this is ${platform}`,
      });
    writeFileSync(
      join(home.path, 'bwrap'),
      '#!/bin/sh\necho "bwrap: No permissions to create a new namespace" >&2; exit 1\n',
    );
    chmodSync(join(home.path, 'bwrap'), 0o755);
    expect(await probe(home.path)).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('No permissions to create a new namespace'),
    });
  });

  it('a machine that is too busy to try a sandbox out starts nothing plain, and is asked again', async () => {
    const program = (script: string) => {
      writeFileSync(join(home.path, 'bwrap'), `#!/bin/sh\n${script}\n`);
      chmodSync(join(home.path, 'bwrap'), 0o755);
    };
    program('exec sleep 600');
    const slow = await probe(home.path, 200);
    expect(slow).toMatchObject({
      kind: 'none',
      isBusy: true,
      reason: expect.stringContaining('longer than'),
    });
    program('echo "bwrap: Creating new namespace failed: Resource temporarily unavailable" >&2; exit 1');
    const full = await probe(home.path);
    expect(full).toMatchObject({ kind: 'none', isBusy: true });
    for (const mode of ['auto', 'require'] as const) {
      const busy = createSandbox({ mode, isolation: full });
      await expect(busy.start(request())).rejects.toThrow(/was not started: .*too busy/);
      expect(await busy.status()).toMatchObject({ isolated: false, refuses: true, isBusy: true });
    }
    const plain = await createSandbox({ mode: 'auto', isolation: full }).start({
      ...request(),
      isolate: false,
    });
    expect(plain.isolated).toBe(false);
  });

  it('a missing program fails as it does without a sandbox', async () => {
    const started = createSandbox({ mode: 'auto' }).start({ ...request(), command: 'no-such-program' });
    const error = await started.then(
      ({ child }) => new Promise<Error>((resolve) => child.once('error', resolve)),
      (reason: Error) => reason,
    );
    expect(error).toMatchObject({ code: 'ENOENT' });
  });
});

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        // It has ended meanwhile.
        return '';
      }
    });
}
