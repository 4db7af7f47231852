import type { AgentDescription, AgentSkill } from '@trunkline/a2a';
import type { Environment, Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import {
  createLiveGateway,
  gatewaySettings,
  type ModelCall,
  type ModelGateway,
  ModelsFile,
} from '@trunkline/llm';
import type { TurnPolicy } from '@trunkline/loop';
import type { AgentOptions } from './options.ts';
import type { LiveConfig } from './setup/config-file.ts';
import type { AgentConfig } from './setup/config-schema.ts';
import { type ModelSettings, modelSettings } from './setup/setup.ts';
import type { Skill, SkillRepository } from './skills/skill-repository.ts';
import type { Toolset } from './toolset.ts';
import { compileGraph, type Graph } from './turns/graph.ts';

const talking: AgentSkill = {
  id: 'chat',
  name: 'Chat',
  description: 'Takes a task in plain words, uses tools, asks back where it must, and reports.',
  tags: ['chat', 'tools'],
};

export interface AgentFactoryDeps {
  agentName: string;
  live: LiveConfig;
  policy: TurnPolicy;
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
    const { agentName, live, model, toolset, skills, active, policy } = this.#deps;
    const { config } = live;
    const list = await skills.list();
    const { tools, approvals } = await toolset.open(config, { list, find: (name) => skills.find(name) });
    const { gateway } = model;
    const graph = compileGraph({ agentName, config, gateway, tools, approvals, skills: list, policy });
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

interface LiveModelOptions {
  options: AgentOptions;
  live: LiveConfig;
  env: Environment | undefined;
  onCall(call: ModelCall): void;
  logger: Logger;
}

/** The gateway to the model that the configuration names. */
export class LiveModel {
  readonly #options: LiveModelOptions;
  readonly models: ModelsFile;
  #gateway: ModelGateway;

  constructor(options: LiveModelOptions) {
    this.#options = options;
    const { env, logger } = options;
    this.models = new ModelsFile({ home: options.options.trunklineHome, env, logger });
    this.#gateway = this.#open();
  }

  /** Connects as the configuration says now. */
  reload(): void {
    this.#gateway = this.#open();
  }

  get gateway(): ModelGateway {
    return this.#gateway;
  }

  /** What makes vectors now: a model's name, `bundled` or `off`. */
  get embeddings(): string {
    const { embeddings } = this.#options.live.config.knowledge;
    return embeddings ?? this.models.role('embeddings')?.model ?? 'bundled';
  }

  /** Where the model is that answers now: the agent's own, or that of all services. */
  get settings(): ModelSettings {
    const { url, apiKey, headers, model } = gatewaySettings(this.#shared(), { file: this.models });
    return { url, apiKey, headers, model };
  }

  /** The settings of all services, with those of the agent in their place where it has its own. */
  #shared(): AgentOptions {
    const { options, live } = this.#options;
    const { url, apiKey, headers, model, fastModel } = modelSettings(options, live.config, live.secrets);
    return {
      ...options,
      llmGatewayUrl: url,
      llmApiKey: apiKey,
      llmHeaders: headers,
      llmModel: model,
      llmFastModel: live.config.routing.aux_model || fastModel,
    };
  }

  #open(): ModelGateway {
    const { live, onCall, logger } = this.#options;
    const { routing, model } = live.config;
    const embeddingModel = () => (['bundled', 'off'].includes(this.embeddings) ? undefined : this.embeddings);
    const shared = this.#shared();
    this.#warnOfUnsentKey({ url: shared.llmGatewayUrl, apiKey: shared.llmApiKey });
    return createLiveGateway(
      shared,
      { file: this.models, logger },
      {
        fallbackModels: routing.fallback_models,
        // Read anew at each use.
        get embeddingModel() {
          return embeddingModel();
        },
        prices: model.prices,
        onCall,
      },
    );
  }

  /** Without the key the model refuses to answer: the log says why it was not sent. */
  #warnOfUnsentKey({ url, apiKey }: Pick<ModelSettings, 'url' | 'apiKey'>): void {
    const { live, logger } = this.#options;
    const { api_key, api_base } = live.secrets.model;
    if (url === undefined || apiKey !== undefined || api_key === '') return;
    const warning =
      'the model key in secrets.yaml belongs to another endpoint and is not sent: set up the model anew with the key of this one, or write it into secrets.yaml';
    logger.warn({ endpoint: url, key_of: api_base }, warning);
  }
}

/** What the agent says about itself: the skills of its configuration and of its folder, else that it can talk. */
export function describeAgent(
  agentName: string,
  { a2a, identity }: AgentConfig,
  skills: readonly Skill[],
): Omit<AgentDescription, 'version' | 'publicUrl'> {
  const own = skills.map(({ name, description }): AgentSkill => ({ id: name, name, description, tags: [] }));
  const listed = [...a2a.skills, ...own];
  return {
    name: identity.name || agentName,
    description: a2a.description || 'An agent that does tasks with tools and asks back where it must.',
    skills: listed.length > 0 ? listed.map(withTag) : [talking],
  };
}

/** The protocol wants a tag for each skill. */
function withTag(skill: AgentSkill): AgentSkill {
  return skill.tags.length > 0 ? skill : { ...skill, tags: ['skill'] };
}

/** What members and programs read beside the public card; guests may not list tools. */
export function callerCard(principal: Principal, { graph }: ActiveAgent, { quotaMb }: AgentOptions) {
  if (principal.role === 'guest') return {};
  const { tools = [], humanTools = [] } = graph ?? {};
  const params = {
    tools: [...tools, ...humanTools].map(({ name, description }) => ({ name, description })),
    quotaMb,
  };
  const description =
    'The tools that the agent has, and the megabytes that each caller may keep (0: no limit).';
  return { extensions: [{ uri: 'urn:trunkline:a2a:tools-v1', description, params }] };
}
