import { externalAgentSchema, targetsSchema } from '@trunkline/a2a';
import type { z } from 'zod';
import { agentSchema, ceremonySchema, mcpServerSchema, routeSchema } from './schema/agent.ts';
import { approversSchema, channelsSchema, fleetSchema, incidentsSchema } from './schema/channels.ts';
import { chatSchema, cloudSchema, codehostSchema } from './schema/chat.ts';
import { cronSchema } from './schema/cron.ts';

export interface FolderKind<Schema extends z.ZodType = z.ZodType> {
  folder: string;
  schema: Schema;
  /** The field that names entry and file. */
  key: 'name' | 'id';
  /** Replace `${VARIABLE}` in values. */
  expand: boolean;
  /** Can hold credentials: files are private and values are never shown. */
  confidential?: boolean;
}

/** May be missing. */
export interface FileKind<Schema extends z.ZodType = z.ZodType> {
  file: string;
  schema: Schema;
  expand: boolean;
  /** Only this spelling: a setting names it. */
  exact?: boolean;
  confidential?: boolean;
}

export type Kind = FolderKind | FileKind;

/**
 * What a workspace holds, but for `agents.yaml` (AGENTS_YAML may put it elsewhere), `keys.yaml`, and the files that name
 * surfaces.
 */
export const kinds = {
  agent: { folder: 'agents', schema: agentSchema, key: 'name', expand: false },
  a2a: { folder: 'agents.d', schema: externalAgentSchema, key: 'name', expand: true, confidential: true },
  mcp: { folder: 'mcp-servers.d', schema: mcpServerSchema, key: 'name', expand: true, confidential: true },
  route: { folder: 'routes.d', schema: routeSchema, key: 'name', expand: false },
  cron: { folder: 'crons', schema: cronSchema, key: 'id', expand: false },
  ceremony: { folder: 'ceremonies', schema: ceremonySchema, key: 'id', expand: false },
  fleet: { file: 'fleet.yaml', schema: fleetSchema, expand: true },
  incidents: { file: 'incidents.yaml', schema: incidentsSchema, expand: false },
  targets: { file: 'a2a.yaml', schema: targetsSchema, expand: true, confidential: true },
  chat: { file: 'chat.yaml', schema: chatSchema, expand: true },
  codehost: { file: 'codehost.yaml', schema: codehostSchema, expand: true },
  cloud: { file: 'cloud.yaml', schema: cloudSchema, expand: true },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;

/** The names of the surfaces that files of the workspace may hold. */
export interface SurfaceNames {
  /** For `channels.yaml`. */
  withChannels: readonly string[];
  /** For `approvers.yaml`. */
  provingSender: readonly string[];
}

export function surfaceKinds({ withChannels, provingSender }: SurfaceNames) {
  return {
    approvers: { file: 'approvers.yaml', schema: approversSchema(provingSender), expand: false },
    channels: { file: 'channels.yaml', schema: channelsSchema(withChannels), expand: true },
  };
}
