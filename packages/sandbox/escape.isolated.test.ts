import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findIsolation } from './availability.ts';
import { outcomeOf, shellScript } from './sandbox.suite.ts';
import { createSandbox, type SandboxRequest } from './sandbox.ts';

const isolation = await findIsolation();
const missing = isolation.kind === 'none' ? isolation.reason : '';

const SECRET = 'key-that-nobody-may-read';
const home = temporaryDirectory();
const workspace = join(home.path, 'data', 'workspace');
const keyFile = join(home.path, 'data', 'operator-key');
const sandbox = createSandbox({ mode: 'require', hidden: [join(home.path, 'data')] });
let server: Server;
let port: number;
/** A process of the host with the key in its environment and memory, as the service has it. */
let victim: ReturnType<typeof spawn>;

beforeAll(async () => {
  mkdirSync(workspace, { recursive: true });
  writeFileSync(keyFile, SECRET, { mode: 0o600 });
  server = createServer((_request, response) => response.end(SECRET));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  victim = spawn('/bin/sh', ['-c', 'echo ready; read line'], {
    env: { PATH: '/usr/bin:/bin', LLM_API_KEY: SECRET },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => victim.stdout?.once('data', resolve));
});
afterAll(async () => {
  victim.kill();
  await new Promise((resolve) => server.close(resolve));
  home.remove();
});
beforeEach(({ skip }) => skip(missing !== '', missing));

const run = async (script: string, more: Partial<SandboxRequest> = {}) =>
  await outcomeOf(await sandbox.start(shellScript(script, workspace, more)));

describe(`a program in the sandbox${missing && ` (skipped: ${missing})`}`, () => {
  it('does its work: reads the system, changes its workspace, knows who it is', async () => {
    const { code, output } = await run('echo made > file; cat file; id -un; id -u; pwd; ls / | tr "\\n" " "');
    expect(code).toBe(0);
    expect(output).toMatch(/^made\nuser\n1000\n/);
    expect(output).toContain(workspace);
    expect(output).not.toMatch(/\b(home|root|opt|srv|sys|boot|mnt)\b/);
    expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('made\n');
    expect((await run('exit 7')).code).toBe(7);
  });

  it('reads no key: not from its parents, from other processes or from files', async () => {
    const { output } = await run(`
      for pid in $PPID 1 2 ${process.pid} ${victim.pid}; do
        cat /proc/$pid/environ /proc/$pid/cmdline; dd if=/proc/$pid/mem bs=1 count=1; ls -l /proc/$pid/root/ /proc/$pid/cwd/
      done 2>&1 | tr '\\0' '\\n'
      cat ${keyFile} /proc/*/environ /proc/*/root${keyFile} 2>&1
      ls -la ${home.path}/data; ls -la ~root /root /home 2>&1
      env; true`);
    expect(output).not.toContain(SECRET);
    expect(output).toContain(`cat: ${keyFile}: No such file or directory`);
    expect(output).toContain(`/proc/${process.pid}/environ: No such file or directory`);
    expect(output).not.toContain('LLM_API_KEY');
  });

  it('sees nothing of the home, whatever is created there later', async () => {
    const data = dirname(keyFile);
    const names = [
      'secrets.db',
      'secrets-key',
      'secrets-key.new',
      'audit.db',
      'accounts.db',
      'accounts.db-wal',
    ];
    const look = `ls -A ${data}; for name in operator-key ${names.join(' ')}; do cat ${data}/$name; done 2>&1`;
    // It runs before the files exist, waits for them, and looks again.
    const running = await sandbox.start(
      shellScript(
        `${look}; echo started; while [ ! -e go ]; do :; done; ${look}; env; cat /proc/*/environ`,
        workspace,
        {
          readOnly: [home.path],
        },
      ),
    );
    const outcome = outcomeOf(running);
    await new Promise((resolve) => running.child.stdout?.once('data', resolve));
    for (const name of names) writeFileSync(join(data, name), SECRET, { mode: 0o644 });
    writeFileSync(join(workspace, 'go'), '');
    const { output } = await outcome;
    expect(output).toContain('started');
    expect(output).not.toContain(SECRET);
    expect(output.match(/: No such file or directory/g)?.length).toBe(2 * (names.length + 1));
    expect(output.split('\n').filter((line) => names.includes(line))).toEqual([]);
  });

  it('reads no key where its workspace contains the folder of the keys, nor through links', async () => {
    symlinkSync(keyFile, join(workspace, 'link'));
    symlinkSync(dirname(keyFile), join(workspace, 'folder'));
    const { output } = await run(`cat link folder/operator-key; cat ${keyFile}; ls ${dirname(keyFile)}`, {
      cwd: home.path,
      writable: [home.path, workspace],
    });
    expect(output).not.toContain(SECRET);
    expect(output).toContain('workspace');
    expect((await run('cat link folder/operator-key')).output).not.toContain(SECRET);
  });

  it('cannot trace, read or signal a process outside', async () => {
    const attempts = await python(`
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
    ctypes.set_errno(0)
    try: result = call()
    except OSError as error: print(name, 'errno', error.errno); return
    print(name, 'errno' if result == -1 else 'DONE', ctypes.get_errno())
attempt('ptrace self', lambda: libc.ptrace(0, 0, 0, 0))
attempt('ptrace victim', lambda: libc.ptrace(16, ${victim.pid}, 0, 0))
attempt('vm_readv', lambda: libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0))
attempt('kill victim', lambda: os.kill(${victim.pid}, signal.SIGKILL))
attempt('kill service', lambda: os.kill(${process.pid}, signal.SIGKILL))
attempt('unshare user', lambda: libc.unshare(0x10000000))
attempt('unshare net', lambda: libc.unshare(0x40000000))
attempt('setns', lambda: libc.setns(os.open('/proc/self/ns/net', 0), 0))
attempt('mount', lambda: libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))
attempt('umount', lambda: libc.umount2(b'${workspace}', 2))
attempt('chroot', lambda: libc.chroot(b'/tmp'))
attempt('setuid', lambda: libc.setuid(0))
`);
    expect(attempts).not.toContain('DONE');
    expect(attempts.match(/errno/g)).toHaveLength(12);
    expect(attempts).toContain('ptrace self errno 1');
    expect(attempts).toContain('unshare user errno 1');
    expect(attempts).toContain('kill victim errno 3');
    expect(victim.exitCode).toBeNull();
  });

  it('is refused the system calls that reach the kernel, with the numbers of this architecture', async () => {
    const { syscallTables } = await import('./seccomp.ts');
    const { denied, absent, clone, clone3 } = syscallTables[process.arch]!;
    const output = await python(`
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in ${JSON.stringify([...denied, ...absent, clone3])}:
    ctypes.set_errno(0)
    result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    if result != -1 or ctypes.get_errno() not in (1, 38): print('PASSED', number, result, ctypes.get_errno())
ctypes.set_errno(0)
print('clone', libc.syscall(${clone}, 0x10000000 + 17, 0, 0, 0, 0), ctypes.get_errno())
import threading, subprocess
thread = threading.Thread(target=lambda: print('thread'))
thread.start(); thread.join()
print(subprocess.run(['echo', 'process'], capture_output=True, text=True).stdout)
`);
    expect(output).not.toContain('PASSED');
    expect(output).toContain('clone -1 1');
    expect(output).toMatch(/thread\nprocess/);
  });

  it('has no rights to gain: no capabilities, no_new_privs, set-uid programs change nothing', async () => {
    const { output } = await run(
      'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; su -c id 2>&1; true',
    );
    expect(output.match(/^Cap\w+:\s+0{16}$/gm)).toHaveLength(5);
    expect(output).toMatch(/NoNewPrivs:\s+1/);
    expect(output).toMatch(/Seccomp:\s+2/);
    expect(output).not.toContain('uid=0');
  });

  it('writes nowhere but into its workspace and its own /tmp', async () => {
    const marker = `trunkline-${process.pid}`;
    const places = [
      '/',
      '/usr/',
      '/usr/bin/',
      '/etc/',
      '/dev/',
      '/var/',
      '/run/',
      '/proc/sys/kernel/',
      `${process.cwd()}/`,
    ];
    const { output } = await run(`
      for place in ${places.join(' ')}; do touch "$place"${marker} 2>/dev/null && echo WROTE $place; done
      echo x > /etc/passwd && echo WROTE passwd
      ln -s ${home.path} out; touch out/${marker}
      find /proc/sys /usr /etc /var /run '(' -type f -o -type d ')' -writable 2>/dev/null | sed 's/^/WROTE /'
      touch /tmp/${marker} && echo own tmp; true`);
    expect(output).not.toContain('WROTE');
    expect(output).toContain('own tmp');
    for (const place of [...places, '/tmp/', `${home.path}/`])
      expect(existsSync(`${place}${marker}`), place).toBe(false);
  });

  it('reaches no service of this machine, and has no interface but its own loopback', async () => {
    const { output } = await run(`
      curl -sS -m 5 http://127.0.0.1:${port}/; curl -sS -m 5 http://[::1]:${port}/
      tail -n +3 /proc/net/dev | cut -d: -f1`);
    expect(output).not.toContain(SECRET);
    expect(output).toContain('curl: (7)');
    expect(output.trim().split('\n').at(-1)?.trim()).toBe('lo');
    const open = await run(`curl -sS -m 5 http://127.0.0.1:${port}/`, { network: 'open' });
    expect(open.output).toBe(SECRET);
  });

  it('finds no socket of the host: Docker, D-Bus, a file in /tmp, an abstract name, VSOCK', async () => {
    const socket = join(home.path, 'docker.sock');
    const listener = createServer((_request, response) => response.end(SECRET));
    const abstract = createServer((_request, response) => response.end(SECRET));
    await new Promise<void>((resolve) => listener.listen(socket, resolve));
    await new Promise<void>((resolve) => abstract.listen(`\0trunkline-${process.pid}`, resolve));
    chmodSync(socket, 0o777);
    const output = await python(`
import socket
for kind, address in [(1, '${socket}'), (1, '\\0trunkline-${process.pid}'), (1, '/run/docker.sock'), (1, '/var/run/docker.sock'), (1, '/run/dbus/system_bus_socket'), (40, (2, 1024)), (17, ('lo', 0)), (38, ('hash', 'sha256'))]:
    try:
        peer = socket.socket(kind, 1); peer.connect(address); peer.send(b'GET / HTTP/1.0\\r\\n\\r\\n'); print('REACHED', address, peer.recv(1000))
    except OSError as error: print('refused', error.errno)
`);
    await Promise.all([listener, abstract].map((each) => new Promise((resolve) => each.close(resolve))));
    expect(output).not.toContain('REACHED');
    expect(output.match(/refused/g)).toHaveLength(8);
    expect(output.match(/refused 97/g)).toHaveLength(3);
  });

  it('inherits no open file of the service, although one was left open for children', async () => {
    // Node opens with close-on-exec, so the careless parent is Python.
    const script = `
      import { createSandbox } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
      const sandbox = createSandbox({ mode: 'require' });
      const { child } = await sandbox.start({ command: '/bin/sh', args: ['-c', 'ls -l /proc/self/fd; cat /proc/self/fd/50'],
        cwd: '/tmp', env: { PATH: '/usr/bin:/bin' }, writable: [], network: 'none' });
      child.stdout.pipe(process.stdout);`;
    const parent = `
import os, subprocess, sys
os.dup2(os.open(sys.argv[1], os.O_RDONLY), 50, inheritable=True)
subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False)
subprocess.run([sys.argv[2], '--input-type=module', '-e', sys.argv[3]], close_fds=False)`;
    const output = execFileSync('python3', ['-u', '-c', parent, keyFile, process.execPath, script], {
      encoding: 'utf8',
    });
    expect(output).toContain(`50 -> ${keyFile}`);
    expect(output).toContain('50 -> /dev/null');
    expect(output).not.toContain(SECRET);
    const leaked = openSync(keyFile, 'r');
    expect((await run('ls -l /proc/self/fd')).output).not.toContain('operator-key');
    expect(leaked).toBeGreaterThan(2);
  });

  it('has no terminal to type into', async () => {
    const output = await python(`
import fcntl, os, pty
main, other = pty.openpty()
for request in (0x5412, 0x541C):
    try: fcntl.ioctl(other, request, b'x'); print('TYPED')
    except OSError as error: print('refused', error.errno)
try: os.open('/dev/tty', os.O_RDWR); print('TERMINAL')
except OSError as error: print('no terminal')
`);
    expect(output).toBe('refused 1\nrefused 1\nno terminal\n');
  });

  it('sees only the environment that it was given', async () => {
    const { output } = await run('env | sort', { env: { PATH: '/usr/bin:/bin', GIVEN: 'yes' } });
    expect(output).toBe(`GIVEN=yes\nHOME=/tmp\nPATH=/usr/bin:/bin\nPWD=${workspace}\n`);
  });
});

describe(`the environment of a program${missing && ` (skipped: ${missing})`}`, () => {
  it('acts on nothing outside, and no process shows it to other accounts', async () => {
    const traces = join(workspace, 'trace');
    const env = { PATH: '/usr/bin:/bin', LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: traces, TOKEN: 'a b\n"c' };
    const running = await sandbox.start(
      shellScript('echo "$TOKEN"; read line', workspace, { env, stdin: 'pipe' }),
    );
    await new Promise((resolve) => running.child.stdout?.once('data', resolve));
    const show = (name: string) => readFileSync(`/proc/${running.child.pid}/${name}`, 'utf8');
    expect(show('environ') + show('cmdline')).not.toMatch(/LD_DEBUG|a b/);
    running.child.stdin?.end();
    await outcomeOf(running);
    // The loader names its file after the process; outside, bwrap would have left one with its own number.
    expect(existsSync(`${traces}.${running.child.pid}`)).toBe(false);
    expect((await run('printf %s "$TOKEN"', { env: { TOKEN: env.TOKEN } })).output).toBe(env.TOKEN);
  });
});

async function python(script: string): Promise<string> {
  writeFileSync(join(workspace, 'attempt.py'), script);
  return (await run('python3 attempt.py')).output;
}
