import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whyUnreachable } from '@trunkline/http';
import { systemCode } from '@trunkline/std';
import { z } from 'zod';

const recordSchema = z.object({
  pid: z.int().positive(),
  urls: z.array(z.string()),
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

/** The services that other processes run from this home, and whether each takes connections now. */
export async function neighbours(home: string) {
  const services = runningProcesses(home).flatMap(({ urls, names = [] }) =>
    names.map((name, at) => ({ name, url: urls[at] ?? '' })),
  );
  return Promise.all(
    services.map(async (service) => {
      const isLive = (await whyUnreachable(service.url, CONNECT_MS)) === undefined;
      return { ...service, state: isLive ? ('live' as const) : ('stopped' as const) };
    }),
  );
}

/** Records in the home which services this process runs, until `remove` is called or the process is gone. */
export function recordRunning(home: string, members: readonly RunningMember[]): { remove(): void } {
  const folder = folderOf(home);
  const file = join(folder, `${process.pid}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(
    file,
    JSON.stringify({
      pid: process.pid,
      urls: members.map(({ url }) => url),
      names: members.map(({ name }) => name),
    }),
    { mode: 0o600 },
  );
  return { remove: () => rmSync(file, { force: true }) };
}

/** Processes that serve from this home now. Records of processes that ended without a word are removed. */
export function runningProcesses(home: string): RunningProcess[] {
  const folder = folderOf(home);
  return namesIn(folder).flatMap((name) => {
    const file = join(folder, name);
    const record = recordIn(file);
    if (record?.pid === process.pid) return [];
    if (record !== undefined && isAlive(record.pid)) return [record];
    rmSync(file, { force: true });
    return [];
  });
}

const folderOf = (home: string) => join(home, 'running');

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}

function recordIn(file: string): RunningProcess | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as another user.
    return systemCode(error) === 'EPERM';
  }
}
