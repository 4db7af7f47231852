import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { dataDirectory, safeFileName, serviceHome } from '@trunkline/storage';
import type { AgentOptions } from '../options.ts';
import type { AgentConfig } from './config-schema.ts';

/** Where each store of one instance stands. */
export interface Places {
  /** Tasks, checkpoints and sessions. */
  state: string;
  workspace: string;
  memory: string;
  knowledge: string;
  notes: string;
  beads: string;
  goals: string;
  audit: string;
  scheduler: string;
  inbox: string;
}

/** What the configuration says about places; blank means nothing. */
type ConfiguredPlaces = Pick<AgentConfig, 'instance' | 'memory' | 'knowledge'>;

type Log = { warn(fields: object, message: string): void };

/** Where the image of an agent keeps its data, if there is such a folder. */
export const imageRoot = '/sandbox';

export function configDirectoryOf(options: AgentOptions): string {
  return options.configDirectory ?? join(serviceHome(options.trunklineHome, 'agent'), 'config');
}

export function configFileOf(options: AgentOptions): string {
  return options.configFile ?? join(configDirectoryOf(options), 'agent.yaml');
}

/** The key that keeps the data of this agent apart from that of others. */
export function instanceOf(options: AgentOptions, config: ConfiguredPlaces): string | undefined {
  return options.instance ?? (config.instance.id.trim() || undefined);
}

/** Finds a writable place for every store; one that is configured but not writable is logged and replaced. */
export async function findPlaces(
  options: AgentOptions,
  config: ConfiguredPlaces,
  logger: Log,
  sandbox = imageRoot,
): Promise<Places> {
  const home = serviceHome(options.trunklineHome, 'agent');
  const root = isDirectory(sandbox) ? sandbox : home;
  const instance = instanceOf(options, config);
  // Each instance has a folder of its own in the place named, or beside the file named.
  const scoped = (folder: string) => resolve(folder, instance === undefined ? '' : safeFileName(instance));
  const find = async (wanted: string, usual: string) => {
    const found = await dataDirectory(scoped(wanted), scoped(join(home, usual)));
    const { path, fellBack } = found;
    if (fellBack) logger.warn({ reason: found.reason, path }, 'directory not writable; using another');
    return { path, fellBack };
  };
  const directory = async (named: string | undefined, usual: string) =>
    (await find(named ?? join(root, usual), usual)).path;
  const file = async (named: string | undefined, usual: string) => {
    const wanted = named ?? join(root, usual);
    const { path, fellBack } = await find(dirname(wanted), dirname(usual));
    return join(path, basename(fellBack ? usual : wanted));
  };
  return {
    state: await directory(join(home, 'state'), 'state'),
    workspace: await directory(options.workspace, 'workspace'),
    memory: await directory(options.memoryPath ?? given(config.memory.path), 'memory'),
    knowledge: await file(
      options.knowledgeDbPath ?? given(config.knowledge.db_path),
      'knowledge/knowledge.db',
    ),
    notes: await file(options.notesPath, 'notes/workspace.json'),
    beads: await file(options.beadsDbPath, 'beads/issues.db'),
    goals: await directory(options.goalPath, 'goals'),
    audit: await file(options.auditPath, 'audit/audit.jsonl'),
    scheduler: await directory(options.schedulerDbDirectory, 'scheduler'),
    inbox: await file(undefined, 'inbox/inbox.db'),
  };
}

function given(text: string): string | undefined {
  return text.trim() === '' ? undefined : text;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
