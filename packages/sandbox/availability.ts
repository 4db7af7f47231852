import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type ContainerRuntime, findContainer } from './container.ts';
import { findProgram } from './mounts.ts';
import { seccompFilter } from './seccomp.ts';

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
export async function probe(
  path: string,
  limitMs = PROBE_MS,
  image = '',
  platform = process.platform,
): Promise<Isolation> {
  const isolation = await probeBubblewrap(path, limitMs, platform);
  if (isolation.kind !== 'none' || isolation.isBusy || image === '') return isolation;
  const container = await findContainer(image, path);
  return typeof container === 'string'
    ? { kind: 'none', reason: `${isolation.reason}; ${container}`, hasImage: true }
    : container;
}

/** Why a program is not started that is to be isolated. */
export function startRefusal(missing: NoIsolation): string {
  const { reason, isBusy } = missing;
  if (isBusy) return `${reason}. The machine is too busy for a sandbox; try again later.`;
  return `there is no sandbox for it: ${reason}. ${waysOut(missing)}`;
}

export interface SandboxStatus {
  kind: 'bubblewrap' | 'container' | 'none' | 'off';
  isolated: boolean;
  /** Nothing is started at all. */
  refuses?: boolean;
  /** Whether there is one could not be told now. */
  isBusy?: boolean;
  /** For people: what is in force, or why nothing is and what to do. */
  words: string;
  advice?: string;
}

export const unsandboxed: SandboxStatus = {
  kind: 'off',
  isolated: false,
  words:
    'TRUNKLINE_SANDBOX=off: commands, MCP servers, coding agents and plugins run with all rights of this account.',
  advice: 'Unset it to run them in a sandbox.',
};

export function statusOf(found: Isolation): SandboxStatus {
  if (found.kind === 'bubblewrap')
    return { kind: 'bubblewrap', isolated: true, words: isolatedWords(found.program) };
  if (found.kind === 'container')
    return {
      kind: 'container',
      isolated: true,
      words: `${found.program} with the image ${found.image}; plugins and programs that may reach some hosts need bubblewrap.`,
    };
  return {
    kind: 'none',
    isolated: false,
    refuses: true,
    ...(found.isBusy && { isBusy: true }),
    words: `none: ${found.reason}; commands, MCP servers, coding agents and plugins are refused.`,
    advice: waysOut(found),
  };
}

function isolatedWords(program: string): string {
  const filter =
    seccompFilter(process.arch) === undefined ? `no seccomp filter on ${process.arch}` : 'seccomp';
  return `bubblewrap (${program}), ${filter}.`;
}

export const requiredWords =
  'its settings turn the sandbox off, but TRUNKLINE_SANDBOX=require. Set TRUNKLINE_SANDBOX=auto to run it without a sandbox.';

/** Why a program may not run without isolation; undefined if its settings say so. */
export async function plainRefusal(
  isolate: boolean | undefined,
  mode: 'auto' | 'require',
  isolation: () => Promise<Isolation>,
): Promise<string | undefined> {
  if (isolate === false) return mode === 'auto' ? undefined : requiredWords;
  const found = await isolation();
  if (found.kind === 'none') return startRefusal(found);
  return 'programs that are found as Windows finds them cannot be started in a sandbox. To run it with all rights of this account, say so: "sandbox: off" in its settings.';
}

/** What the operator can do where there is no isolation. */
function waysOut({ hasImage }: NoIsolation): string {
  const mend = hasImage
    ? 'Start or mend that, or install bubblewrap'
    : 'Install bubblewrap and allow user namespaces, or set SANDBOX_IMAGE to an image of podman or docker';
  return `${mend}. To run programs with all rights of this account instead, say so: TRUNKLINE_SANDBOX=off for all, "sandbox: off" in the settings of one MCP server or coding agent.`;
}

async function probeBubblewrap(
  path: string,
  limitMs: number,
  platform: NodeJS.Platform,
): Promise<Exclude<Isolation, ContainerRuntime>> {
  if (platform !== 'linux')
    return { kind: 'none', reason: `bubblewrap runs on Linux only, and this is ${platform}` };
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
