import type { Tool } from '@trunkline/llm';
import {
  type ApprovedTool,
  createCalculator,
  createCurrentTime,
  createDelegateTo,
  createDuckDuckGo,
  createFetchUrl,
  createSearxng,
  createWebSearch,
  type Delegate,
  type FetchUrlOptions,
  fileTools,
} from '@trunkline/tools';
import type { ScheduleBackend } from '../scheduler/schedule-backend.ts';
import { schedulerTools } from '../scheduler/scheduler-tools.ts';
import { createPeerConsult } from './peers/peer-consult.ts';
import { createPeerList } from './peers/peer-list.ts';
import type { Peer } from './peers/peers.ts';
import { type StoresForTools, storeTools } from './store-tools.ts';

/** What the tools stand on; what is left out takes its tools with it. */
export interface AgentToolDependencies {
  stores: StoresForTools;
  schedules?: ScheduleBackend | undefined;
  /** The directory of the file tools. */
  workspace?: string | undefined;
  /** Tools that the operator approves first, such as run_command. */
  approved?: readonly ApprovedTool[];
  peers?: readonly Peer[];
  delegates?: readonly Delegate[];
  /** A SearXNG instance; without it the search needs no key and no setting. */
  searxngUrl?: string | undefined;
  fetch?: FetchUrlOptions;
  /** Tools of MCP servers and plugins. */
  more?: readonly Tool[];
  /** Names that are not wanted. */
  disabled?: readonly string[];
}

/** All tools of the agent but those that only the lead agent has. Of two with one name the first stays. */
export function createAgentTools(dependencies: AgentToolDependencies): Tool[] {
  const { stores, schedules, approved = [], disabled = [], more = [] } = dependencies;
  const tools = [
    ...commonTools(dependencies),
    ...storeTools(stores),
    ...schedulerTools(schedules),
    ...(dependencies.workspace === undefined ? [] : fileTools(dependencies.workspace)),
    ...approved.map(({ tool }) => tool),
    ...othersTools(dependencies),
    ...more,
  ];
  const names = new Set(disabled);
  return tools.filter(({ name }) => !names.has(name) && names.add(name));
}

function commonTools({ searxngUrl, fetch }: AgentToolDependencies): Tool[] {
  const engine = searxngUrl === undefined ? createDuckDuckGo() : createSearxng({ url: searxngUrl });
  return [createCurrentTime(), createCalculator(), createWebSearch(engine), createFetchUrl(fetch)];
}

function othersTools({ peers = [], delegates = [] }: AgentToolDependencies): Tool[] {
  return [
    ...(delegates.length === 0 ? [] : [createDelegateTo({ delegates })]),
    ...(peers.length === 0 ? [] : [createPeerList(peers), createPeerConsult(peers)]),
  ];
}
