import { basename, dirname, join } from 'node:path';
import { type ExternalAgent, loadExternalAgents, loadTargets } from '@trunkline/a2a';
import type { Environment, Logger } from '@trunkline/config';
import { type AgentDefinition, agentSchema } from './agent-schema.ts';
import { type Followed, type FollowSettings, followFile, followFiles, followFolder } from './follow.ts';
import type { Problem, Problems } from './problems.ts';
import {
  type Channel,
  channelsSchema,
  type FleetFile,
  fleetSchema,
  type Incident,
  incidentsSchema,
  type McpServer,
  mcpServerSchema,
  type Route,
  routeSchema,
} from './schemas.ts';

export interface WorkspaceSettings {
  directory: string;
  /** AGENTS_YAML; `agents.yaml` of the workspace when not given. */
  agentsFile: string | undefined;
  env: Environment;
  problems: Problems;
  logger: Logger;
}

/** The files of the workspace as they stand; every value is the last good one. */
export interface Workspace {
  readonly directory: string;
  agents(): readonly AgentDefinition[];
  externalAgents(): readonly ExternalAgent[];
  channels(): readonly Channel[];
  fleet(): FleetFile;
  routes(): readonly Route[];
  mcpServers(): readonly McpServer[];
  incidents(): readonly Incident[];
  /** Names of the places that schedules deliver to; undefined when there is no `a2a.yaml`. */
  targets(): readonly string[] | undefined;
  problems(): Problem[];
  /** Tells of every change that can be used; gives back what stops it. */
  onChange(listener: (file: string) => void): () => void;
  close(): Promise<void>;
}

/** Reads the workspace and follows all of its files. */
export async function openWorkspace(settings: WorkspaceSettings): Promise<Workspace> {
  const { directory, env, problems } = settings;
  await using closing = new AsyncDisposableStack();
  const listeners = new Set<(file: string) => void>();
  const changed = (file: string) => {
    for (const listener of listeners) listener(file);
  };
  const follow: FollowSettings = { problems, env, changed };
  const keep = async <Value>(opening: Promise<Followed<Value>>) => {
    const followed = await opening;
    closing.defer(() => followed.close());
    return followed.value;
  };
  const channels = await keep(followFile(directory, 'channels.yaml', channelsSchema, follow, true));
  const fleet = await keep(followFile(directory, 'fleet.yaml', fleetSchema, follow, true));
  const incidents = await keep(followFile(directory, 'incidents.yaml', incidentsSchema, follow, false));
  const agents = await keep(followFolder(join(directory, 'agents'), agentSchema, follow));
  const routes = await keep(followFolder(join(directory, 'routes.d'), routeSchema, follow));
  const mcpServers = await keep(followFolder(join(directory, 'mcp-servers.d'), mcpServerSchema, follow));
  const externalAgents = await keep(followExternalAgents(settings, follow));
  const targets = await keep(
    followFiles(
      [{ directory, isWanted: (file) => file === 'a2a.yaml' }],
      () => targetNames(join(directory, 'a2a.yaml'), env),
      undefined,
      follow,
    ),
  );
  const parts = closing.move();
  return {
    directory,
    agents,
    externalAgents,
    channels: () => channels().channels,
    fleet,
    routes,
    mcpServers,
    incidents: () => incidents().incidents,
    targets,
    problems: () => problems.list(),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => parts.disposeAsync(),
  };
}

async function targetNames(file: string, env: Environment): Promise<string[] | undefined> {
  const targets = await loadTargets(file, env);
  return targets && [...targets.keys()];
}

/** `agents.yaml` and `agents.d/` make one list, in which the folder wins. */
function followExternalAgents(
  { directory, agentsFile, env, logger }: WorkspaceSettings,
  follow: FollowSettings,
): Promise<Followed<ExternalAgent[]>> {
  const file = agentsFile ?? join(directory, 'agents.yaml');
  const folder = join(directory, 'agents.d');
  const load = async () => {
    const { entries, warnings } = await loadExternalAgents({ file, directory: folder }, env);
    for (const warning of warnings) logger.warn({ file }, warning);
    return entries;
  };
  const places = [
    { directory: dirname(file), isWanted: (name: string) => name === basename(file) },
    { directory: folder, isWanted: () => true },
  ];
  return followFiles(places, load, [], follow);
}
