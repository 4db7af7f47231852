import { realpathSync } from 'node:fs';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import {
  type ExternalAgent,
  externalAgentsSchema,
  type RemoteAgent,
  toExternalAgents,
  toTargets,
} from '@trunkline/a2a';
import { ConfigError, type Environment, isSecretName, type Logger } from '@trunkline/config';
import { type Peers, peerRoles } from '@trunkline/service';
import type { z } from 'zod';
import { FollowedFiles, type FollowSettings, followFolder } from './follow.ts';
import { type FileKind, type FolderKind, kinds, type SurfaceNames, surfaceKinds } from './kinds.ts';
import type { Problem, Problems } from './problems.ts';
import type { AgentDefinition, Ceremony, McpServer, Route } from './schema/agent.ts';
import type { Channel, FleetFile, Incident } from './schema/channels.ts';
import type { ChatFile, CloudFile, CodehostFile } from './schema/chat.ts';

export interface WorkspaceSettings {
  directory: string;
  /** AGENTS_YAML; `agents.yaml` of the workspace when not given. */
  agentsFile: string | undefined;
  surfaces: SurfaceNames;
  env: Environment;
  problems: Problems;
  logger: Logger;
}

/** Current values of the workspace files; each is the last valid one. */
export interface Workspace {
  readonly directory: string;
  agents(): readonly AgentDefinition[];
  externalAgents(): readonly ExternalAgent[];
  /** Peers that register once their service has started. */
  expectedAgents(): readonly string[];
  /** External agents without a file of their own, with their place. */
  listedElsewhere(): ReadonlyMap<string, string>;
  /** As `surface:user id`. */
  approvers(): readonly string[];
  channels(): readonly Channel[];
  fleet(): FleetFile;
  routes(): readonly Route[];
  mcpServers(): readonly McpServer[];
  incidents(): readonly Incident[];
  ceremonies(): readonly Ceremony[];
  chat(): ChatFile;
  codehost(): CodehostFile;
  /** Undefined when there is no `cloud.yaml`. */
  cloud(): CloudFile | undefined;
  /** Undefined when there is no `a2a.yaml`. */
  targets(): ReadonlyMap<string, RemoteAgent> | undefined;
  problems(): Problem[];
  /** For folders that a plugin follows itself, as `crons/`; undefined: the file is valid again. */
  noteProblem(file: string, error: unknown): void;
  /** Calls back with the path after every valid change; returns a function that stops it. */
  onChange(listener: (file: string) => void): () => void;
  close(): Promise<void>;
}

export async function openWorkspace(settings: WorkspaceSettings): Promise<Workspace> {
  const { directory, env, problems, logger } = settings;
  await using closing = new AsyncDisposableStack();
  const listeners = new Set<(file: string) => void>();
  const changed = (file: string) => {
    for (const listener of listeners) listener(file);
  };
  const follow: FollowSettings = { problems, env, logger, changed };
  const files = await openFiles(directory, follow, closing);
  const folder = async <Schema extends z.ZodType>(kind: FolderKind<Schema>) => {
    const followed = await followFolder(directory, kind, follow);
    closing.defer(() => followed.close());
    return followed.value;
  };
  const file = async <Schema extends z.ZodType>(kind: FileKind<Schema>) => {
    const value = await files.follow(kind);
    return () => value() ?? kind.schema.parse(undefined);
  };
  const surfaceFiles = surfaceKinds(settings.surfaces);
  const approvers = await file(surfaceFiles.approvers);
  const channels = await file(surfaceFiles.channels);
  const incidents = await file(kinds.incidents);
  const targets = await files.follow(kinds.targets);
  const parts = {
    fleet: await file(kinds.fleet),
    chat: await file(kinds.chat),
    codehost: await file(kinds.codehost),
    cloud: await files.follow(kinds.cloud),
    agents: await folder(kinds.agent),
    routes: await folder(kinds.route),
    mcpServers: await folder(kinds.mcp),
    ceremonies: await folder(kinds.ceremony),
    ...(await followExternalAgents(settings, follow, closing)),
  };
  const opened = closing.move();
  return {
    ...parts,
    directory,
    approvers: () => approvers().approvers,
    channels: () => channels().channels,
    incidents: () => incidents().incidents,
    targets: () => {
      const known = targets();
      return known && toTargets(known);
    },
    problems: () => problems.list(),
    noteProblem: (file, error) => problems.note(file, error),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => opened.disposeAsync(),
  };
}

async function openFiles(
  directory: string,
  follow: FollowSettings,
  closing: AsyncDisposableStack,
): Promise<FollowedFiles> {
  const files = new FollowedFiles(directory, follow);
  await files.open();
  closing.defer(() => files.close());
  return files;
}

/** Merges `agents.yaml` and `agents.d/`; the folder wins. */
async function followExternalAgents(
  { directory, agentsFile, env, logger }: WorkspaceSettings,
  follow: FollowSettings,
  closing: AsyncDisposableStack,
): Promise<Pick<Workspace, 'externalAgents' | 'expectedAgents' | 'listedElsewhere'>> {
  let known: readonly ExternalAgent[] = [];
  let read = () => known;
  const changed = (path: string) => {
    known = read();
    follow.changed(path);
  };
  const place = agentsFile ?? join(directory, 'agents.yaml');
  const files = await openFiles(dirname(place), { ...follow, changed }, closing);
  const kind = { file: basename(place), schema: externalAgentsSchema, expand: true, confidential: true };
  const listed = await files.follow({ ...kind, exact: agentsFile !== undefined });
  const folder = await followFolder(directory, kinds.a2a, { ...follow, changed });
  closing.defer(() => folder.close());
  read = () => {
    const all = [...(listed()?.agents ?? []), ...folder.value()];
    const byName = new Map(all.map((entry) => [entry.name, entry]));
    const { entries, warnings } = toExternalAgents([...byName.values()], env);
    for (const warning of warnings) logger.warn(warning);
    return entries;
  };
  known = read();
  return {
    externalAgents: () => known,
    expectedAgents: () => [],
    listedElsewhere: () => new Map((listed()?.agents ?? []).map(({ name }) => [name, place])),
  };
}

/** Throws when agents' file tools could write configuration, which would let them run programs. */
export function checkApart(files: string, places: Readonly<Record<string, string | undefined>>): void {
  const root = realPath(files);
  const inside = Object.entries(places).filter(([, path]) => path !== undefined && isInside(root, path));
  if (inside.length === 0) return;
  throw new ConfigError(
    'The switchboard does not start:',
    inside.map(
      ([variable, path]) =>
        `${path} lies in ${files}, where agents may write any file; set ${variable} to a place outside it`,
    ),
  );
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, realPath(path));
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`));
}

/** Resolves links of the existing part. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || dirname(whole) === whole) throw error;
    return join(realPath(dirname(whole)), basename(whole));
  }
}

/** Keeps credentials of the workspace out of the log; other values (`DEBUG: "true"`) are common words. */
export function hideSecrets(workspace: Workspace, hide: ((secret: string) => void) | undefined): void {
  if (hide === undefined) return;
  const maps = workspace
    .mcpServers()
    .map((server) => (server.transport === 'stdio' ? server.env : server.headers));
  const remote = [
    ...workspace.externalAgents().map(({ agent }) => agent),
    ...(workspace.targets()?.values() ?? []),
  ];
  const fields = [...maps, ...remote.map(({ headers }) => headers ?? {})].flatMap((map) =>
    Object.entries(map),
  );
  for (const [name, value] of fields) if (isSecretName(name)) hide(value);
  for (const { credentials } of remote)
    for (const value of Object.values(credentials ?? {})) if (typeof value === 'string') hide(value);
}

/** Writes an example into an empty workspace; returns whether it did. */
export async function seedWorkspace(directory: string): Promise<boolean> {
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length > 0) return false;
  await cp(join(import.meta.dirname, 'seed'), directory, { recursive: true });
  return true;
}

/** Adds the peers of this process as agents; the files win. */
export function withPeers(workspace: Workspace, peers: Peers | undefined): Workspace {
  if (peers === undefined) return workspace;
  return {
    ...workspace,
    externalAgents() {
      const listed = workspace.externalAgents();
      const known = new Set([...listed, ...workspace.agents()].map(({ name }) => name));
      return [...listed, ...agentsOf(peers).filter(({ name }) => !known.has(name))];
    },
    expectedAgents() {
      const known = new Set([...workspace.externalAgents(), ...workspace.agents()].map(({ name }) => name));
      return Object.keys(peerRoles).filter((name) => !known.has(name));
    },
    listedElsewhere() {
      const agents = agentsOf(peers).map(({ name }) => [name, 'the services that run beside it'] as const);
      return new Map([...agents, ...workspace.listedElsewhere()]);
    },
    targets() {
      const listed = workspace.targets();
      const agent = peers.find('agent');
      if (agent === undefined || listed?.has(peers.agentName)) return listed;
      return new Map([
        ...(listed ?? []),
        [peers.agentName, remoteOf(peers.agentName, 'agent', agent.url, peers)],
      ]);
    },
  };
}

function agentsOf(peers: Peers): ExternalAgent[] {
  return Object.keys(peerRoles).flatMap((name) => {
    const peer = peers.find(name);
    if (peer === undefined) return [];
    return [{ name, agent: remoteOf(name, name, peer.url, peers), skills: [], subscribesTo: [], chain: {} }];
  });
}

function remoteOf(name: string, to: string, url: string, { serviceToken }: Peers): RemoteAgent {
  return { name, url: `${url}/a2a`, peer: { token: serviceToken, name: 'switchboard', to } };
}
