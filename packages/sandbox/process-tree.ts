import { readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

export interface TreeLimits {
  memoryMb?: number | undefined;
  /** The kernel counts threads too. */
  processes?: number | undefined;
  cpuSeconds?: number | undefined;
}

interface Usage {
  memoryBytes: number;
  cpuSeconds: number;
}

/** Fixed for programs, whatever the kernel counts in. */
const TICKS_A_SECOND = 100;
/** bwrap itself, outside and inside. */
export const OWN_PROCESSES = 2;
/** Most programs that go wrong do so at once; one that has run for a while is looked at less often. */
const FIRST_CHECK_MS = 100;
const LAST_CHECK_MS = 1000;

/**
 * Compares what a process and all below it use with the limits, again and again, as resource limits count each process
 * alone and root has no limit of processes. Calls `onExceeded` once, with words; returns how to stop.
 */
export function watchTree(root: number, limits: TreeLimits, onExceeded: (words: string) => void): () => void {
  let isStopped = Object.values(limits).every((limit) => limit === undefined);
  let timer: NodeJS.Timeout | undefined;
  let delay = FIRST_CHECK_MS;
  const look = async () => {
    const { processes } = limits;
    const most = processes === undefined ? undefined : processes + OWN_PROCESSES;
    const pids = await descendants(root, most);
    const words =
      most !== undefined && pids.length > most
        ? `it started more than ${processes} processes`
        : exceeded(await usageOf(pids), limits);
    if (isStopped) return;
    if (words !== undefined) return onExceeded(words);
    timer = setTimeout(() => void look(), delay).unref();
    delay = Math.min(delay * 1.2, LAST_CHECK_MS);
  };
  if (!isStopped) void look();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

function exceeded(usage: Usage, { memoryMb, cpuSeconds }: TreeLimits): string | undefined {
  if (memoryMb !== undefined && usage.memoryBytes > memoryMb * 1024 ** 2)
    return `it used more than ${memoryMb} MB of memory`;
  if (cpuSeconds !== undefined && usage.cpuSeconds > cpuSeconds)
    return `it used more than ${cpuSeconds} s of processor time`;
  return undefined;
}

/** The process and all below it; more than `most` are not looked for, as a fork bomb grows faster than they are found. */
async function descendants(root: number, most = Number.POSITIVE_INFINITY): Promise<number[]> {
  const pids = [root];
  // Grows while it is walked: every process adds its children.
  for (const pid of pids) {
    if (pids.length > most) break;
    pids.push(...(await childrenOf(pid)));
  }
  return pids;
}

async function usageOf(pids: readonly number[]): Promise<Usage> {
  const all = await Promise.all(pids.map(usageOfOne));
  return all.reduce((sum, one) => ({
    memoryBytes: sum.memoryBytes + one.memoryBytes,
    cpuSeconds: sum.cpuSeconds + one.cpuSeconds,
  }));
}

/** The kernel lists children by the thread that started them. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = threads.map((thread) =>
    readFile(`/proc/${pid}/task/${thread}/children`, 'latin1').catch(() => ''),
  );
  return (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

async function usageOfOne(pid: number): Promise<Usage> {
  const [stat, memoryBytes] = await Promise.all([statOf(pid), ownMemory(pid)]);
  if (stat === undefined) return { memoryBytes: 0, cpuSeconds: 0 };
  // User and system time of the process, and of children that have ended.
  const ticks = stat.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { memoryBytes, cpuSeconds: ticks / TICKS_A_SECOND };
}

/** Anonymous and shared memory that is resident or swapped; files of programs that many processes map do not count. */
async function ownMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const kilobytes = ['RssAnon', 'RssShmem', 'VmSwap'].map((name) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, value) => sum + value, 0) * 1024;
}

/** The fields after the name, which may hold blanks and brackets: state, parent, group and so on. */
async function statOf(pid: number): Promise<string[] | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const end = stat.lastIndexOf(')');
  return end < 0 ? undefined : stat.slice(end + 2).split(' ');
}

const VARIABLE = 'TRUNKLINE_COMMAND';

// A process that was found may have started another since.
const MOST_ROUNDS = 100;

/** What one command starts: every process inherits the mark, also one that leaves the group or loses its parent. */
interface MarkedProcesses {
  /** To be set for the first process. */
  environment: Record<string, string>;
  /** Ends the group of the first process and all that carry the mark. */
  end(first: number | undefined): Promise<void>;
}

export function markProcesses(): MarkedProcesses {
  const mark = `${ownerOf('self')}.${crypto.randomUUID()}`;
  return {
    environment: { [VARIABLE]: mark },
    async end(first) {
      endGroup(first);
      await endAll((found) => found === mark);
    },
  };
}

/** Ends what is left of the commands of a service that was killed and could not end them itself. */
export async function endAbandonedProcesses(): Promise<void> {
  const own = markOf('self');
  await endAll((mark) => mark !== own && !isOwned(mark));
}

/** Ends a process that leads a group, and its group. */
function endGroup(first: number | undefined): void {
  if (first !== undefined) kill(-first);
}

async function endAll(isWanted: (mark: string) => boolean): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const found = await findMarked(isWanted);
    if (found.length === 0) return;
    for (const pid of found) {
      // The number may belong to another process by now.
      const mark = markOf(pid);
      if (mark !== undefined && isWanted(mark)) kill(Number(pid));
    }
  }
}

/** Only Linux shows what others carry; elsewhere the group is all that can be ended. */
async function findMarked(isWanted: (mark: string) => boolean): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const mark = markIn(await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''));
      return mark !== undefined && isWanted(mark) ? [pid] : [];
    }),
  );
  return found.flat();
}

function markOf(pid: string): string | undefined {
  return markIn(readOrNothing(() => readFileSync(`/proc/${pid}/environ`, 'latin1')));
}

function markIn(environment: string): string | undefined {
  const start = `${VARIABLE}=`;
  return environment
    .split('\0')
    .find((variable) => variable.startsWith(start))
    ?.slice(start.length);
}

/** A service by its number, the moment it started and the space in which numbers are given. */
function ownerOf(pid: string): string {
  const stat = readOrNothing(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // One that has ended stays listed until its parent takes note.
  const [, number = 0, rest = ''] = /^(\d+) \(.*\) ([^ZX] .*)/s.exec(stat) ?? [];
  return `${number}.${rest.split(' ')[19] ?? 0}.${ownSpace()}`;
}

/** Whether the service that set the mark runs; of those in another space of numbers that cannot be told. */
function isOwned(mark: string): boolean {
  const [pid = '', started, space] = mark.split('.');
  return space !== ownSpace() || ownerOf(pid) === `${pid}.${started}.${space}`;
}

function ownSpace(): string {
  return readOrNothing(() => readlinkSync('/proc/self/ns/pid')).replace(/\D/g, '');
}

/** Processes end while they are looked at, and those of other users cannot be read. */
function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/** What cannot be ended has ended already, or belongs to another user. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
