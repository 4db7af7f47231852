import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { whyUnreachable } from '@trunkline/http';
import { systemCode } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';

const recordSchema = z.object({
  pid: z.int().positive(),
  urls: z.array(z.url({ protocol: /^https?$/ })),
  /** Older versions recorded only addresses. */
  names: z.array(z.string()).optional(),
});

type RunningProcess = z.output<typeof recordSchema>;

export interface RunningMember {
  name: string;
  url: string;
}

/** A connection on this machine is taken at once, or not at all. */
const CONNECT_MS = 500;

/** The services that other processes run from this home, and whether each takes connections now, within a limit. */
export async function neighbours(home: string, connectMs = CONNECT_MS) {
  const services = runningProcesses(home).flatMap(({ urls, names = [] }) =>
    urls.flatMap((url, at) => (names[at] === undefined ? [] : [{ name: names[at], url }])),
  );
  return Promise.all(
    services.map(async (service) => {
      const isLive = (await whyUnreachable(service.url, connectMs)) === undefined;
      return { ...service, state: isLive ? ('live' as const) : ('stopped' as const) };
    }),
  );
}

/** Records in the home which services this process runs, until `remove` is called or the process is gone. */
export async function recordRunning(
  home: string,
  members: readonly RunningMember[],
): Promise<{ remove(): void }> {
  const folder = folderOf(home);
  const file = join(folder, `${process.pid}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const record = {
    pid: process.pid,
    urls: members.map(({ url }) => url),
    names: members.map(({ name }) => name),
  };
  await writeFileAtomic(file, JSON.stringify(record), { mode: 0o600 });
  return { remove: () => rmSync(file, { force: true }) };
}

/** Other processes that serve from this home now. Records of processes that ended without a word are removed. */
export function runningProcesses(home: string): RunningProcess[] {
  return liveRecords(home).filter(({ pid }) => pid !== process.pid);
}

/**
 * Whether a process of this account serves from this home at exactly that address. While none does, anybody on the
 * machine may listen there: what is secret goes only to an address for which this holds. No name of a host does, as
 * somebody else may listen on another of its addresses.
 */
export function isServedAt(home: string, url: string): boolean {
  const origin = URL.parse(url)?.origin;
  return liveRecords(home).some(
    ({ pid, urls }) =>
      stateOf(pid) === 'ours' && urls.some((recorded) => new URL(recorded).origin === origin),
  );
}

function liveRecords(home: string): RunningProcess[] {
  const folder = folderOf(home);
  return namesIn(folder).flatMap((name) => {
    const file = join(folder, name);
    const record = recordIn(file);
    if (record === undefined) return [];
    if (stateOf(record.pid) !== 'gone') return [record];
    removeIfOurs(file);
    return [];
  });
}

const folderOf = (home: string) => join(home, 'running');

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile() && entry.name.endsWith('.json')).map(({ name }) => name);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return [];
    throw error;
  }
}

/** Undefined for what is no record, and for one that this account may not read. */
function recordIn(file: string): RunningProcess | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) !== undefined) return undefined;
    throw error;
  }
}

function removeIfOurs(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    // Of another account, as after a start as root: it harms nobody.
    if (systemCode(error) === undefined) throw error;
  }
}

function stateOf(pid: number): 'ours' | 'of another account' | 'gone' {
  try {
    process.kill(pid, 0);
    return 'ours';
  } catch (error) {
    return systemCode(error) === 'EPERM' ? 'of another account' : 'gone';
  }
}
