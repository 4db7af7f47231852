import { readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

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
