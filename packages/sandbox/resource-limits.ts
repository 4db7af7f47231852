import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import type { TreeLimits } from './process-tree.ts';

export interface SandboxLimits extends TreeLimits {
  /** Wall-clock time; then everything that was started is killed. */
  seconds?: number | undefined;
  /** Size of one file that is written. */
  fileMb?: number | undefined;
  /** What each process may reserve beyond its memory without using it; default 1024. */
  reservedMb?: number | undefined;
}

/** Each thread of Node reserves 128 MB for code and does not use them. */
const RESERVED_MB = 1024;

/** A shell that sets the resource limits and becomes the program. */
export function limited({
  memoryMb,
  reservedMb = RESERVED_MB,
  processes,
  cpuSeconds,
  fileMb,
}: SandboxLimits): string[] {
  const settings = [
    'ulimit -c 0',
    // Of the data, not of addresses: V8 and Go reserve far more addresses than they use. The whole tree is watched.
    ...(memoryMb === undefined ? [] : [`ulimit -d ${(memoryMb + reservedMb) * 1024}`]),
    ...(cpuSeconds === undefined ? [] : [`ulimit -t ${Math.ceil(cpuSeconds)}`]),
    ...(fileMb === undefined ? [] : [`ulimit -f ${fileMb * 2048}`]),
    ...(processes === undefined || !countsProcessesApart() ? [] : [processLimit(processes)]),
  ];
  return ['/bin/sh', '-c', `${settings.join(' && ')} && exec "$@"`, 'sh'];
}

/** bash calls it -u, dash and busybox -p. */
function processLimit(processes: number): string {
  return `{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; }`;
}

/** From Linux 5.14 on a user namespace has a count of its own; before, all processes of the account counted. */
function countsProcessesApart(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

export interface ProcessCgroup {
  /** Goes before a program and its arguments and puts it into the group. */
  prefix: readonly string[];
  /** Called when all its processes have been killed. */
  remove(): void;
}

/** Where root can make a group that limits the number of processes: cgroup v2, or the older one of that name. */
const UNIFIED = '/sys/fs/cgroup';
const SEPARATE = '/sys/fs/cgroup/pids';

const RETRY_MS = 100;
const MAX_RETRIES = 100;

let count = 0;

/**
 * The kernel holds root to no limit of processes but that of a cgroup. Undefined for other accounts, whose resource limit
 * is enforced, and where no group can be made.
 */
export function createProcessCgroup(processes: number): ProcessCgroup | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const parent = limitsProcesses(UNIFIED) ? UNIFIED : SEPARATE;
  if (count === 0) sweep(parent);
  count += 1;
  const group = join(parent, `trunkline-${process.pid}-${count}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, 'pids.max'), `${processes}`);
  } catch {
    // Read-only, as in most containers: the watch over the process tree is left.
    remove(group);
    return undefined;
  }
  const enter = '{ echo $$ > "$0"; } 2>/dev/null; exec "$@"';
  return {
    prefix: ['/bin/sh', '-c', enter, join(group, 'cgroup.procs')],
    remove: () => remove(group),
  };
}

function limitsProcesses(root: string): boolean {
  try {
    return readFileSync(join(root, 'cgroup.subtree_control'), 'utf8').split(/\s/).includes('pids');
  } catch {
    return false;
  }
}

/** Removes groups that services left behind which ended before they could. */
function sweep(parent: string): void {
  for (const name of existsSync(parent) ? readdirSync(parent) : []) {
    const [, owner] = /^trunkline-(\d+)-\d+$/.exec(name) ?? [];
    if (owner !== undefined && !existsSync(`/proc/${owner}`)) remove(join(parent, name));
  }
}

/** Processes that were killed leave their group a moment later. */
function remove(group: string, tries = 0): void {
  try {
    rmdirSync(group);
  } catch (error) {
    const isBusy = (error as NodeJS.ErrnoException).code === 'EBUSY';
    if (isBusy && tries < MAX_RETRIES) setTimeout(() => remove(group, tries + 1), RETRY_MS).unref();
  }
}
