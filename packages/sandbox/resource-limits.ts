import { release } from 'node:os';
import type { TreeLimits } from './process-tree.ts';

export interface SandboxLimits extends TreeLimits {
  /** Wall-clock time; then everything that was started is killed. */
  seconds?: number | undefined;
  /** Size of one file that is written. */
  fileMb?: number | undefined;
}

/** Each thread of Node reserves 128 MB for code and does not use them. */
const RESERVED_MB = 1024;

/** A shell that sets the resource limits and becomes the program. */
export function limited({ memoryMb, processes, cpuSeconds, fileMb }: SandboxLimits): string[] {
  const settings = [
    'ulimit -c 0',
    // Of the data, not of addresses: V8 and Go reserve far more addresses than they use. The whole tree is watched.
    ...(memoryMb === undefined ? [] : [`ulimit -d ${(memoryMb + RESERVED_MB) * 1024}`]),
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
