// Runs containers where podman or docker and a static busybox are installed (Debian: podman, runc, busybox-static).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { type ContainerRuntime, findContainer } from './container.ts';
import { findProgram } from './mounts.ts';
import { outcomeOf, shellScript } from './sandbox.suite.ts';
import { createSandbox } from './sandbox.ts';

const image = `localhost/trunkline-test-${process.pid}:1`;
const directory = temporaryDirectory();
const limitMs = 120_000;
const found = await openRuntime();
const reason = typeof found === 'string' ? found : '';

afterAll(() => {
  if (typeof found !== 'string') run(found.program, ['rmi', '--force', image]);
  directory.remove();
});

/** A runtime that can run an image of busybox alone; else the reason why not. */
async function openRuntime(): Promise<ContainerRuntime | string> {
  const path = process.env.PATH ?? '';
  const busybox = findProgram('busybox', path, '/');
  const programs = ['podman', 'docker'].flatMap((name) => findProgram(name, path, '/') ?? []);
  if (programs.length === 0) return 'neither podman nor docker is installed';
  if (busybox === undefined) return 'busybox is not installed (busybox-static)';
  const reasons: string[] = [];
  for (const program of programs) {
    const folder = join(directory.path, `runtime-${reasons.length}`);
    mkdirSync(folder);
    try {
      run(program, ['import', '-', image], archiveOf(busybox, folder));
    } catch (error) {
      reasons.push(String(error).split('\n')[0] ?? '');
      continue;
    }
    const plain = await findContainer(image, join(program, '..'));
    if (typeof plain !== 'string') return plain;
    // crun refuses machines whose cgroups are of both versions.
    const wrapper = join(folder, 'podman');
    writeFileSync(wrapper, `#!/bin/sh\nexec ${program} --runtime runc "$@"\n`, { mode: 0o755 });
    const other = program.endsWith('podman') ? await findContainer(image, folder) : plain;
    if (typeof other !== 'string') return other;
    reasons.push(other);
  }
  return reasons.join('; ');
}

function run(program: string, args: string[], input?: Buffer): string {
  return execFileSync(program, args, { timeout: limitMs, input, stdio: 'pipe' }).toString();
}

function archiveOf(busybox: string, folder: string): Buffer {
  const bin = join(folder, 'root/bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'busybox'), readFileSync(busybox), { mode: 0o755 });
  for (const name of ['sh', 'cat', 'ls', 'touch', 'wget', 'grep', 'sleep', 'dd'])
    symlinkSync('busybox', join(bin, name));
  return execFileSync('tar', ['-C', join(folder, 'root'), '-c', '.'], { maxBuffer: 2 ** 26 });
}

describe.skipIf(reason !== '')(`a container${reason && ` (skipped: ${reason})`}`, () => {
  const workspace = join(directory.path, 'workspace');
  const home = join(workspace, 'home');
  const start = (script: string, more: object = {}) => {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'key'), 'sesame');
    writeFileSync(join(workspace, '.env'), 'KEY=sesame');
    const isolation = found as ContainerRuntime;
    const hidden = [home, join(workspace, '.env')];
    const sandbox = createSandbox({ mode: 'require', isolation, hidden, workspaces: [workspace] });
    return sandbox.start(shellScript(script, workspace, { env: { PATH: '/bin', TOKEN: 'for it' }, ...more }));
  };

  it('writes to the workspace alone, sees nothing hidden, and has no rights and no network', async () => {
    const script = [
      'echo "token $TOKEN"; touch made && echo made',
      'touch /etc/made 2>/dev/null || echo read-only',
      'ls home; cat .env; cat /proc/self/environ | grep -c LLM_API_KEY',
      'grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; cat /proc/net/dev | grep -c eth',
      'wget -T 2 -q -O - http://127.0.0.1:1/ 2>/dev/null || echo unreachable',
    ];
    const { output } = await outcomeOf(await start(script.join('\n')));
    expect(output).toMatch(/token for it\nmade\nread-only\n0\n/);
    expect(output).toMatch(/CapEff:\t0+\n/);
    expect(output).toMatch(/NoNewPrivs:\t1\n/);
    expect(output).toMatch(/Seccomp:\t2\n/);
    expect(output).toMatch(/\n0\nunreachable\n$/);
    expect(output).not.toContain('sesame');
    expect(existsSync(join(workspace, 'made'))).toBe(true);
  });

  it('is bounded in memory and processes, also where the runtime ignores its own limits', async () => {
    const limits = { memoryMb: 64, processes: 24 };
    const script = [
      'dd if=/dev/zero of=/dev/null bs=2000M count=1 2>/dev/null && echo allocated',
      'i=0; while [ $i -lt 80 ]; do sleep 2 & i=$((i + 1)); done; echo forked',
    ];
    for (const each of script) {
      const { output } = await outcomeOf(await start(each, { limits }));
      expect(output, each).not.toMatch(/^(allocated|forked)$/m);
    }
  });

  it('is gone once it is ended, and a list of hosts is refused', async () => {
    const running = await start('echo up; sleep 1000');
    await new Promise((resolve) => running.child.stdout?.once('data', resolve));
    await running.end();
    const names = run((found as ContainerRuntime).program, ['ps', '--format', '{{.Names}}']);
    expect(names).not.toContain('trunkline-');
    await expect(start('true', { network: { hosts: ['a.example'] } })).rejects.toThrow('a list of hosts');
  });
});
