import { costOf, type ModelGateway, priceOf, type TokenCounts, type Tool } from '@trunkline/llm';
import type { CompactionOptions, TurnLimits } from '@trunkline/loop';
import type { Approvals } from '../approvals/approvals.ts';
import type { AgentConfig } from '../setup/config-schema.ts';
import type { SkillHead } from '../skills/skill-repository.ts';
import { leadInstructions } from './instructions.ts';

type Model = ReturnType<ModelGateway['languageModel']>;

/** A helper of the lead agent. */
export type Subagent = AgentConfig['subagents'][number];

/** The agent ready to run: model, tools, instructions and limits, all from one state of the configuration. */
export interface Graph {
  /** The named model, else the configured one. */
  model(name?: string): Model;
  modelName: string;
  instructions: string;
  /** All tools that run by themselves, under the names the model sees. */
  tools: readonly Tool[];
  /** Tools that wait for a person. */
  humanTools: readonly Tool[];
  /** The tools that need an approval. */
  approvals: Approvals;
  subagents: readonly Subagent[];
  limits: TurnLimits;
  /** Undefined where conversations are not compacted. */
  compaction(): CompactionOptions | undefined;
  cost(model: string, tokens: TokenCounts): number | undefined;
}

export interface GraphParts {
  agentName: string;
  config: AgentConfig;
  gateway: ModelGateway;
  tools: readonly Tool[];
  humanTools: readonly Tool[];
  approvals: Approvals;
  /** Skills that can be read when they are needed. */
  skills: readonly SkillHead[];
}

export function compileGraph(parts: GraphParts): Graph {
  const { agentName, config, gateway, tools, humanTools, approvals } = parts;
  const isEnabled = ({ name }: Tool) => !config.tools.disabled.includes(name);
  const isDemo = gateway.describe().demo;
  return {
    model: (name) => withSettings(gateway.languageModel(name), config.model),
    modelName: gateway.describe().name,
    instructions: leadInstructions(agentName, config, parts.skills),
    tools,
    humanTools: humanTools.filter(isEnabled),
    approvals,
    subagents: config.subagents,
    limits: limitsOf(config.budget),
    compaction: () => compactionOf(config.compaction, gateway),
    cost: (model, tokens) => (isDemo ? 0 : costOf(priceOf(model, config.model.prices), tokens)),
  };
}

function limitsOf(budget: AgentConfig['budget']): TurnLimits {
  return {
    steps: budget.steps,
    toolTimeoutMs: budget.tool_timeout_s * 1000,
    turnTimeoutMs: budget.turn_timeout_s * 1000,
    ...(budget.tokens !== undefined && { tokens: budget.tokens }),
    ...(budget.cost_usd !== undefined && { costUsd: budget.cost_usd }),
  };
}

function compactionOf(
  { enabled, max_tokens, keep_messages }: AgentConfig['compaction'],
  gateway: ModelGateway,
): CompactionOptions | undefined {
  if (!enabled) return undefined;
  return { model: gateway.fastModel(), tokens: max_tokens, keepMessages: keep_messages };
}

/** The model with the configured temperature and length, unless a call brings its own. */
function withSettings(model: Model, { temperature, max_tokens }: AgentConfig['model']): Model {
  if (temperature === undefined && max_tokens === undefined) return model;
  const settings = {
    ...(temperature !== undefined && { temperature }),
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
  };
  return {
    ...model,
    doGenerate: (options) => model.doGenerate({ ...settings, ...given(options) }),
    doStream: (options) => model.doStream({ ...settings, ...given(options) }),
  };
}

function given<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}
