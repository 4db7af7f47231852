import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { safeFileName } from '@trunkline/storage';

const STORE = 'jobs.db';

/** Holds the data folder of the agent whose schedules are beside it; only one process can use that folder at a time. */
const OWNER = 'owner';

export interface NamedStores {
  /** Parent of `<agent_name>/jobs.db`. */
  directory: string;
  agentName: string;
  /** The data folder of this agent; without it nothing is taken over. */
  owner?: string | undefined;
  /** The directory is in the data folder: what has no owner, as older versions left it, belongs to this agent. */
  isOwn?: boolean | undefined;
}

export function storePath({ directory, agentName }: NamedStores): string {
  return join(directory, safeFileName(agentName), STORE);
}

/** Names under which the directory holds schedules that this agent does not run: its former ones, and those that nobody owns. */
export function otherNames({ directory, agentName, owner, isOwn }: NamedStores): {
  former: string[];
  unowned: string[];
} {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const others = names
    .filter((name) => name !== safeFileName(agentName) && isFile(join(directory, name, STORE)))
    .map((name) => ({ name, ownedBy: ownerOf(join(directory, name)) }));
  const unowned = others.flatMap(({ name, ownedBy }) => (ownedBy === undefined ? [name] : []));
  const own = others.flatMap(({ name, ownedBy }) => (ownedBy === owner && owner !== undefined ? [name] : []));
  return isOwn && owner !== undefined
    ? { former: [...own, ...unowned], unowned: [] }
    : { former: own, unowned };
}

/** Records whose schedules these are, so that they are found after the agent got another name. */
export function recordOwner({ directory, agentName, owner }: NamedStores): void {
  const folder = join(directory, safeFileName(agentName));
  if (owner !== undefined && ownerOf(folder) !== owner) writeFileSync(join(folder, OWNER), owner);
}

/** Keeps a store whose schedules run elsewhere now, under a name that no agent reads. */
export function setAside({ directory }: NamedStores, name: string): void {
  renameSync(join(directory, name, STORE), join(directory, name, `moved-${Date.now()}-${STORE}`));
}

function ownerOf(folder: string): string | undefined {
  return isFile(join(folder, OWNER)) ? readFileSync(join(folder, OWNER), 'utf8') : undefined;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
