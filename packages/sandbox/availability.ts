import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type ContainerRuntime, findContainer } from './container.ts';
import { findProgram } from './mounts.ts';

/** What the system offers. */
export type Isolation = { kind: 'bubblewrap'; program: string } | ContainerRuntime | NoIsolation;

interface NoIsolation {
  kind: 'none';
  reason: string;
  /** The machine had no room to find out; the next start tries again. */
  isBusy?: boolean;
  /** SANDBOX_IMAGE is set, but no runtime has it or is ready; looked for again after a while. */
  hasImage?: boolean;
}

const PLACES = '/usr/bin:/usr/local/bin:/bin';
const PROBE_MS = 10_000;
/** How long a missing container runtime counts as missing: its daemon may be starting. */
const RECHECK_MS = 15_000;
const ARGUMENTS = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net'],
  ...['--unshare-cgroup-try', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '1048576', '--tmpfs', '/tmp'],
];

const found = new Map<string, Promise<Isolation>>();

/**
 * Tries bubblewrap out with the namespaces that the sandbox uses, then a container runtime where an image is set; once
 * unless the machine was too busy to tell or the runtime was not ready.
 */
export function findIsolation(image = ''): Promise<Isolation> {
  const known = found.get(image);
  if (known !== undefined) return known;
  const finding = probe(PLACES, PROBE_MS, image).then((isolation) => {
    if (isolation.kind === 'none' && isolation.isBusy) found.delete(image);
    if (isolation.kind === 'none' && isolation.hasImage)
      setTimeout(() => found.delete(image), RECHECK_MS).unref();
    return isolation;
  });
  found.set(image, finding);
  return finding;
}

/** `path` are the folders where bwrap, podman and docker are looked for. */
export async function probe(path: string, limitMs = PROBE_MS, image = ''): Promise<Isolation> {
  const isolation = await probeBubblewrap(path, limitMs);
  if (isolation.kind !== 'none' || isolation.isBusy || image === '') return isolation;
  const container = await findContainer(image, path);
  return typeof container === 'string'
    ? { kind: 'none', reason: `${isolation.reason}; ${container}`, hasImage: true }
    : container;
}

/** Why a program is not started although it may run without isolation. No container holds plugins. */
export function startRefusal(
  { reason, isBusy, hasImage }: NoIsolation,
  isPlugin = false,
): string | undefined {
  if (isBusy) return `${reason}. The machine is too busy for a sandbox; try again later.`;
  return hasImage && !isPlugin
    ? `${reason}. Start or mend that; without SANDBOX_IMAGE, TRUNKLINE_SANDBOX=auto runs programs without a sandbox.`
    : undefined;
}

async function probeBubblewrap(path: string, limitMs: number): Promise<Exclude<Isolation, ContainerRuntime>> {
  if (process.platform !== 'linux')
    return { kind: 'none', reason: `bubblewrap runs on Linux only, and this is ${process.platform}` };
  const program = findProgram('bwrap', path, '/');
  if (program === undefined)
    return { kind: 'none', reason: 'bubblewrap is not installed (apt install bubblewrap)' };
  const failure = await tryOut(program, limitMs);
  if (failure === undefined) return { kind: 'bubblewrap', program };
  const { words, isBusy } = failure;
  const reason = `${program} cannot make a sandbox: ${words}${isBusy ? '' : sysctlHint()}`;
  return { kind: 'none', reason, ...(isBusy && { isBusy }) };
}

/** Of the kernel: no process, memory or file to be had just now. */
const BUSY =
  /EAGAIN|ENOMEM|EMFILE|ENFILE|Resource temporarily unavailable|Cannot allocate memory|Too many open files/;

function tryOut(program: string, limitMs: number): Promise<{ words: string; isBusy: boolean } | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: limitMs, killSignal: 'SIGKILL' as const, env: {} };
    execFile(program, [...ARGUMENTS, '--', '/bin/sh', '-c', ':'], options, (error, _stdout, stderr) => {
      if (error === null) return resolve(undefined);
      if (error.killed) return resolve({ words: `it took longer than ${limitMs / 1000} s`, isBusy: true });
      const words = stderr.trim().split('\n')[0] || error.message;
      resolve({ words, isBusy: BUSY.test(`${error.code} ${words}`) });
    });
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
