import type { Environment, OptionSet, OptionsOf, OptionTable } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import type { Tool } from '@trunkline/llm';
import type { ContentStore } from '@trunkline/loop';
import type { Sandbox } from '@trunkline/sandbox';
import type { ApprovedTool, Delegate, FetchUrlOptions, FileMarks } from '@trunkline/tools';
import type { Actor } from '../owners.ts';
import type { ScheduleBackend } from '../scheduler/schedule-backend.ts';
import type { AgentConfig } from '../setup/config-schema.ts';
import type { Skill } from '../skills/skill-repository.ts';
import type { AgentStores } from '../stores/stores.ts';

/** What tools may use. A module whose backend is absent offers nothing. */
export interface ToolDeps<Options = unknown> {
  /** The settings that the module declares. */
  options: Options;
  config: AgentConfig;
  env: Environment | undefined;
  stores: Partial<Pick<AgentStores, 'notes' | 'knowledge' | 'beads' | 'inbox' | 'goals'>>;
  scheduler: ScheduleBackend | undefined;
  /** Files of conversations. */
  files?: ContentStore | undefined;
  /** For whom a tool opens a store: for whoever the turn is for. */
  actor(principal: Principal | undefined): Actor;
  /** The one directory that file tools and commands may touch. */
  workspace: string;
  /** Which of its files were written from text from outside; missing where nothing is stored. */
  fileMarks?: FileMarks;
  sandbox: Sandbox;
  /** Enabled delegates of the configuration, and the peer services. */
  delegates: readonly Delegate[];
  skills: { list: readonly Skill[]; find(name: string): Promise<Skill | undefined> };
  /** Hosts and networks that fetch_url may reach besides public ones. */
  fetch: FetchUrlOptions;
}

/** A group of tools that describes itself: its settings, and the tools that a configuration allows. */
export interface ToolModule {
  name: string;
  /** Become settings of the service, with their lines in --help, .env.example and the reference. */
  options?: OptionSet;
  /** Called for every state of the configuration. An ApprovedTool runs only after the operator's approval. */
  tools(deps: ToolDeps): readonly (Tool | ApprovedTool)[];
}

export function defineToolModule<const Options extends OptionSet>(module: {
  name: string;
  options?: Options;
  tools(deps: ToolDeps<OptionsOf<OptionTable<Options>>>): readonly (Tool | ApprovedTool)[];
}): ToolModule {
  // The service reads the options of all modules, so that each finds its own among them.
  return module as ToolModule;
}
