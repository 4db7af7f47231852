import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findProgram } from './mounts.ts';

/** What the system offers. */
export type Isolation = { kind: 'bubblewrap'; program: string } | { kind: 'none'; reason: string };

const PLACES = '/usr/bin:/usr/local/bin:/bin';
const PROBE_MS = 10_000;
const ARGUMENTS = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net'],
  ...['--unshare-cgroup-try', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '1048576', '--tmpfs', '/tmp'],
];

let found: Promise<Isolation> | undefined;

/** Tries bubblewrap out once, with the namespaces that the sandbox uses. */
export function findIsolation(): Promise<Isolation> {
  found ??= probe(PLACES);
  return found;
}

/** `path` are the folders where bwrap is looked for. */
export async function probe(path: string): Promise<Isolation> {
  if (process.platform !== 'linux')
    return { kind: 'none', reason: `bubblewrap runs on Linux only, and this is ${process.platform}` };
  const program = findProgram('bwrap', path, '/');
  if (program === undefined)
    return { kind: 'none', reason: 'bubblewrap is not installed (apt install bubblewrap)' };
  const failure = await tryOut(program);
  return failure === undefined
    ? { kind: 'bubblewrap', program }
    : { kind: 'none', reason: `${program} cannot make a sandbox: ${failure}${sysctlHint()}` };
}

function tryOut(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: PROBE_MS, killSignal: 'SIGKILL' as const, env: {} };
    execFile(program, [...ARGUMENTS, '--', '/bin/sh', '-c', ':'], options, (error, _stdout, stderr) =>
      resolve(error === null ? undefined : stderr.trim().split('\n')[0] || error.message),
    );
  });
}

/** The settings of the kernel that forbid user namespaces, by name. */
function sysctlHint(): string {
  const settings = [
    { name: 'user/max_user_namespaces', forbids: '0', wanted: '10000' },
    { name: 'kernel/unprivileged_userns_clone', forbids: '0', wanted: '1' },
    { name: 'kernel/apparmor_restrict_unprivileged_userns', forbids: '1', wanted: '0' },
  ];
  const guilty = settings.filter(({ name, forbids }) => readSetting(name) === forbids);
  if (guilty.length === 0) return '';
  const words = guilty.map(({ name, wanted }) => `sysctl -w ${name.replace('/', '.')}=${wanted}`);
  return `. User namespaces are forbidden here; allow them with ${words.join(' and ')}`;
}

function readSetting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
