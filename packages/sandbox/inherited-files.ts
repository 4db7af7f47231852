import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC, as /proc shows it on every architecture that has a filter here. */
const CLOSE_ON_EXEC = 0o2000000;

export type Stdio = 'ignore' | 'pipe' | number;

/** Files that whoever started the service left open are handed on to every child; /dev/null takes their place. */
export function withoutInherited(
  stdio: readonly Stdio[],
  start: (stdio: Stdio[]) => ChildProcess,
): ChildProcess {
  const inherited = inheritedFiles().filter((fd) => fd >= stdio.length);
  const nothing = openSync('/dev/null', 'r');
  try {
    const all = Array.from({ length: Math.max(stdio.length, ...inherited.map((fd) => fd + 1)) }, (_, fd) =>
      inherited.includes(fd) ? nothing : (stdio[fd] ?? 'ignore'),
    );
    return start(all);
  } finally {
    closeSync(nothing);
  }
}

/** Those without close-on-exec, which Node sets on all that it opens itself. */
function inheritedFiles(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => {
      try {
        const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1] ?? '0';
        return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
      } catch {
        // The one that listed the folder.
        return false;
      }
    });
}
