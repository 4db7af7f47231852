import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A program under test, in a process of its own. */
export interface Program {
  url: string;
  pid: number;
  /** User and system time of the process and its children so far, in milliseconds; the kernel counts in steps of 10. */
  cpu(): number;
  /** Resident memory of the process and its children, in MB. */
  resident(): number;
  stop(): Promise<void>;
}

/** Starts a program with this Node and waits for the address that it prints. */
export function startProgram(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Program> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid ?? 0;
  return new Promise((resolve, reject) => {
    let printed = '';
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended before it listened: ${printed}`)));
    child.stdout.on('data', (words: Buffer) => {
      printed = (printed + words).slice(0, 10_000);
      const [url] = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(printed) ?? [];
      if (url !== undefined)
        resolve({
          url,
          pid,
          cpu: () => cpuOfTree(pid),
          resident: () => residentOfTree(pid),
          stop: () => stop(child),
        });
    });
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

/** User and system time of a process and its children, in milliseconds. */
export function cpuOfTree(pid: number): number {
  return sumOverTree(pid, cpuMilliseconds);
}

/** Resident memory of a process and its children, in MB. */
export function residentOfTree(pid: number): number {
  return sumOverTree(pid, residentMegabytes);
}

function sumOverTree(pid: number, measure: (pid: number) => number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.reduce((sum, child) => sum + sumOverTree(child, measure), measure(pid));
}

function cpuMilliseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
