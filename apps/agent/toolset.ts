import type { Environment } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import {
  createCalculator,
  createCurrentTime,
  createDuckDuckGo,
  createFetchUrl,
  createSearxng,
  createWebSearch,
} from '@trunkline/tools';
import type { AgentOptions } from './options.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import { schedulerTools } from './scheduler/scheduler-tools.ts';
import type { AgentConfig } from './setup/config-schema.ts';
import type { AgentStores } from './stores/stores.ts';
import { createPeerConsult } from './tools/peers/peer-consult.ts';
import { createPeerList } from './tools/peers/peer-list.ts';
import { readPeers } from './tools/peers/peers.ts';
import { storeTools } from './tools/store-tools.ts';

export interface ToolsetParts {
  options: AgentOptions;
  env: Environment | undefined;
  stores: AgentStores;
  scheduler: ScheduleBackend | undefined;
}

/** All tools that the configuration allows; a tool whose backend is off is not among them. */
export function createToolset(parts: ToolsetParts, config: AgentConfig): Tool[] {
  const { stores, scheduler } = parts;
  const { knowledge, scheduler: schedules } = config.middleware;
  return [
    createCurrentTime(),
    createCalculator(),
    ...webTools(parts.options, config),
    ...storeTools(
      { ...stores, knowledge: knowledge ? stores.knowledge : undefined },
      config.filesystem.enabled && config.filesystem.run_command,
    ),
    ...schedulerTools(schedules ? scheduler : undefined),
    ...peerTools(parts.env),
  ];
}

function webTools(options: AgentOptions, { egress }: AgentConfig): Tool[] {
  const { searxngUrl, fetchAllowedHosts, fetchAllowedCidrs } = options;
  const engine = searxngUrl === undefined ? createDuckDuckGo() : createSearxng({ url: searxngUrl });
  const allowedHosts = [...fetchAllowedHosts, ...egress.allowed_hosts];
  return [createWebSearch(engine), createFetchUrl({ allowedHosts, allowedCidrs: fetchAllowedCidrs })];
}

/** Only where the operator has named a peer. */
function peerTools(env: Environment | undefined): Tool[] {
  const peers = readPeers(env);
  return peers.length === 0 ? [] : [createPeerList(peers), createPeerConsult(peers)];
}
