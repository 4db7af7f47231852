import { basename, dirname, join } from 'node:path';
import {
  type ExternalAgent,
  externalAgentsSchema,
  type RemoteAgent,
  toExternalAgents,
  toTargets,
} from '@trunkline/a2a';
import type { Environment, Logger } from '@trunkline/config';
import type { z } from 'zod';
import { FollowedFiles, type FollowSettings, followFolder } from './follow.ts';
import { type FileKind, type FolderKind, kinds } from './kinds.ts';
import type { Problem, Problems } from './problems.ts';
import type { AgentDefinition } from './schema/agent.ts';
import type { Ceremony } from './schema/ceremony.ts';
import type { Channel } from './schema/channels.ts';
import type { ChatFile } from './schema/chat.ts';
import type { CloudFile } from './schema/cloud.ts';
import type { CodehostFile } from './schema/codehost.ts';
import type { FleetFile } from './schema/fleet.ts';
import type { Incident } from './schema/incidents.ts';
import type { McpServer } from './schema/mcp-server.ts';
import type { Route } from './schema/route.ts';

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
  /** Names of agents that join by themselves when their service has started. */
  expectedAgents(): readonly string[];
  /** Where agents of other services stand that have no file of their own in the workspace, by name. */
  listedElsewhere(): ReadonlyMap<string, string>;
  /** Who may approve what agents want to run, beside the operator: `surface:user id`. */
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
  /** The places that schedules deliver to; undefined when there is no `a2a.yaml`. */
  targets(): ReadonlyMap<string, RemoteAgent> | undefined;
  problems(): Problem[];
  /** For folders that a plugin follows itself, as the scheduler does with `crons/`: undefined says that the file is well again. */
  noteProblem(file: string, error: unknown): void;
  /** Tells of every change that can be used, with the path of the file; gives back what stops it. */
  onChange(listener: (file: string) => void): () => void;
  close(): Promise<void>;
}

/** Reads the workspace and follows all of its files. */
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
  const approvers = await file(kinds.approvers);
  const channels = await file(kinds.channels);
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

/** `agents.yaml` and `agents.d/` make one list, in which the folder wins. */
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
