import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { OUT_OF_MEMORY, type ParserReply } from './parser-thread.ts';

/** What a thread and a process have in common. */
export interface Host {
  postMessage(task: unknown): void;
  /** Processor time so far, or where the system does not tell, time. */
  workedMs(): Promise<number>;
  terminate(): Promise<unknown>;
  ref(): void;
  unref(): void;
}

interface HostEvents {
  onReply(reply: ParserReply<unknown>): void;
  onError(error: NodeJS.ErrnoException): void;
  onExit(code: number | null, signal: string | null, lastWords: string): void;
}

interface HostOptions {
  script: URL;
  memoryMb: number;
  residentMb: number;
}

/** A thread of this process. */
export function startWorker(
  { script, memoryMb }: HostOptions,
  { onReply, onError, onExit }: HostEvents,
): Host {
  const worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: memoryMb } })
    .on('message', onReply)
    .on('error', onError)
    .on('exit', (code) => onExit(code, null, ''));
  return Object.assign(worker, {
    // It rejects once the thread has ended.
    workedMs: () =>
      worker.cpuUsage().then(
        ({ user, system }) => (user + system) / 1000,
        () => 0,
      ),
  });
}

/** Of what a process says on its standard error, for the log. */
const LAST_WORDS = 2000;
/** How V8 begins its last words. */
const HEAP_IS_FULL = /heap out of memory|allocation failed/i;
const WATCH_MS = 50;

/** It sees no variable of the service, as it needs none of its secrets, and ends with the service. */
export function startProcess(
  { script, memoryMb, residentMb }: HostOptions,
  { onReply, onError, onExit }: HostEvents,
): Host {
  const child = fork(fileURLToPath(script), {
    serialization: 'advanced',
    execArgv: [`--max-old-space-size=${memoryMb}`],
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lastWords = '';
  let isTooLarge = false;
  let watch: NodeJS.Timeout | undefined;
  child.stderr?.setEncoding('utf8').on('data', (words: string) => {
    isTooLarge ||= HEAP_IS_FULL.test(words);
    lastWords = `${lastWords}${words}`.slice(-LAST_WORDS);
  });
  child.on('message', (reply: ParserReply<unknown>) => {
    if (!('ready' in reply)) clearInterval(watch);
    onReply(reply);
  });
  child.on('error', onError);
  // What it says last may come behind its exit.
  child.on('close', (code, signal) => {
    clearInterval(watch);
    onExit(isTooLarge ? OUT_OF_MEMORY : code, signal, lastWords);
  });
  return {
    // A process that died meanwhile is told of by its exit.
    postMessage: (task) => {
      child.send?.(task as object, () => undefined);
      // From outside: a task that unpacks without a pause lets no timer of its own process run.
      if (Number.isFinite(residentMb))
        watch = setInterval(() => {
          if (residentBytes(child.pid) <= residentMb * MEGABYTE) return;
          isTooLarge = true;
          child.kill('SIGKILL');
        }, WATCH_MS).unref();
    },
    // Where the system counts it, one that ended meanwhile has worked no longer: its exit says why.
    workedMs: async () => (process.platform === 'linux' ? processorMs(child.pid) : performance.now()),
    terminate: async () => {
      clearInterval(watch);
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      const ended = once(child, 'exit');
      // At rest it keeps no program alive: one that waits for its end would exit first.
      child.ref();
      child.kill('SIGKILL');
      await ended;
    },
    ref: () => {
      child.ref();
      child.channel?.ref();
    },
    unref: () => {
      child.unref();
      child.channel?.unref();
      (child.stderr as Socket | null)?.unref();
    },
  };
}

const MEGABYTE = 1024 * 1024;

/** Memory of a process that is not swapped out; 0 where the system does not tell. */
function residentBytes(pid: number | undefined): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    // It ended meanwhile, or this is no Linux.
    return 0;
  }
}

/** What the kernel counts processor time in. */
const TICK_MS = 10;

/** Processor time of a process; 0 when it ended. */
function processorMs(pid: number | undefined): number {
  try {
    // Behind the name, which may hold anything: user time and system time are the twelfth and thirteenth field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}
