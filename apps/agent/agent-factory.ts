import type { Logger } from '@trunkline/config';
import type { LiveConfig } from './setup/config-file.ts';
import type { LiveModel } from './setup/live-model.ts';
import type { Skill, SkillRepository } from './skills/skill-repository.ts';
import type { Toolset } from './toolset.ts';
import { compileGraph, type Graph } from './turns/graph.ts';
import { humanTools } from './turns/human-tools.ts';

export interface AgentFactoryDeps {
  agentName: string;
  live: LiveConfig;
  model: LiveModel;
  toolset: Toolset;
  skills: SkillRepository;
  active: ActiveAgent;
  logger: Logger;
}

/** Creates the agent that the configuration describes, and recreates it when the configuration changes. */
export class AgentFactory {
  readonly #deps: AgentFactoryDeps;
  #rebuilding = Promise.resolve();

  constructor(deps: AgentFactoryDeps) {
    this.#deps = deps;
    deps.toolset.onToolsChange(() => this.rebuild());
  }

  async create(): Promise<void> {
    const { agentName, live, model, toolset, skills, active } = this.#deps;
    const { config } = live;
    const list = await skills.list();
    const { tools, approvals } = await toolset.open(config, { list, find: (name) => skills.find(name) });
    const { gateway } = model;
    const graph = compileGraph({ agentName, config, gateway, tools, humanTools, approvals, skills: list });
    active.set(graph, list);
  }

  /** Rebuilds run one after the other, so that the newest configuration wins. */
  rebuild(): void {
    const { logger } = this.#deps;
    this.#rebuilding = this.#rebuilding
      .then(() => this.create())
      .then(
        () => logger.info('configuration applied'),
        (error: unknown) => logger.error({ err: error }, 'failed to apply the changed configuration'),
      );
  }

  /** Resolves when no rebuild is under way. */
  async settled(): Promise<void> {
    await this.#rebuilding;
  }
}

const subagentTools = new Set(['task', 'task_batch']);

/** The agent that new turns use; turns that come before the first one exists wait for it. */
export class ActiveAgent {
  readonly #first = Promise.withResolvers<Graph>();
  #graph: Graph | undefined;
  #skills: readonly Skill[] = [];

  get isReady(): boolean {
    return this.#graph !== undefined;
  }

  /** Undefined before the first agent exists. */
  get graph(): Graph | undefined {
    return this.#graph;
  }

  get skills(): readonly Skill[] {
    return this.#skills;
  }

  /** Turns that start from now on use it; those under way keep theirs. */
  set(graph: Graph, skills: readonly Skill[]): void {
    this.#graph = graph;
    this.#skills = skills;
    this.#first.resolve(graph);
  }

  async current(): Promise<Graph> {
    return this.#graph ?? (await this.#first.promise);
  }

  /** Models call tools that do not exist: their names must not become labels of metrics. */
  knowsTool(name: string): boolean {
    const { tools = [], humanTools: pausing = [] } = this.#graph ?? {};
    return subagentTools.has(name) || [...tools, ...pausing].some((tool) => tool.name === name);
  }
}
