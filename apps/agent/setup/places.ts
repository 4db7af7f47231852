import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { dataDirectory, safeFileName, serviceHome } from '@trunkline/storage';
import type { AgentOptions } from '../options.ts';

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
interface ConfiguredPlaces {
  instance: { id: string };
  memory: { path: string };
  knowledge: { db_path: string };
}

interface Wish {
  /** What a variable or the configuration names. */
  named: string | undefined;
  /** The place below the root of the data when nothing is named. */
  usual: string;
  kind: 'file' | 'directory';
}

type Log = { warn(fields: object, message: string): void };

const imageRoot = '/sandbox';

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
  const find = (wish: Wish) => findPlace(wish, { root, home, instance, logger });
  const directory = (named: string | undefined, usual: string) => find({ named, usual, kind: 'directory' });
  const file = (named: string | undefined, usual: string) => find({ named, usual, kind: 'file' });
  return {
    state: await findPlace(
      { named: undefined, usual: 'state', kind: 'directory' },
      { root: home, home, instance, logger },
    ),
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

interface PlaceDefaults {
  root: string;
  home: string;
  instance: string | undefined;
  logger: Log;
}

async function findPlace({ named, usual, kind }: Wish, defaults: PlaceDefaults): Promise<string> {
  const wanted = scoped(named ?? join(defaults.root, usual), kind, defaults.instance);
  const fallback = scoped(join(defaults.home, usual), kind, defaults.instance);
  const folder = (path: string) => (kind === 'file' ? dirname(path) : path);
  const found = await dataDirectory(folder(wanted), folder(fallback));
  if (found.fellBack) defaults.logger.warn({ reason: found.reason }, `using ${found.path} instead`);
  return kind === 'directory' ? found.path : join(found.path, basename(found.fellBack ? fallback : wanted));
}

/** Each instance has a folder of its own beside or in the place named. */
function scoped(path: string, kind: 'file' | 'directory', instance: string | undefined): string {
  if (instance === undefined) return resolve(path);
  const folder = safeFileName(instance);
  return kind === 'file' ? join(dirname(resolve(path)), folder, basename(path)) : join(resolve(path), folder);
}

function given(text: string): string | undefined {
  return text.trim() === '' ? undefined : text;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
