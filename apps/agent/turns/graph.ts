import {
  costOf,
  defineTool,
  type ModelGateway,
  type RunningTool,
  silenceLimitMs,
  type TokenCounts,
  type Tool,
} from '@trunkline/llm';
import type { CompactionOptions, TurnLimits, TurnPolicy } from '@trunkline/loop';
import { z } from 'zod';
import type { Approvals } from '../approvals/approvals.ts';
import type { AgentConfig } from '../setup/config-schema.ts';
import type { Skill, SkillHead } from '../skills/skill-repository.ts';
import type { ChosenModel } from './session-store.ts';

type Model = ReturnType<ModelGateway['languageModel']>;

/** A helper of the lead agent. */
export type Subagent = AgentConfig['subagents'][number];

/** The agent ready to run: model, tools, instructions and limits, all from one state of the configuration. */
export interface Graph {
  /** The named model, else the configured one. */
  model(name?: string): Model;
  /** The model that was chosen for a conversation, a role's too; undefined where it is no longer offered. */
  chosenModel(chosen: ChosenModel): Model | undefined;
  instructions: string;
  /** All tools that run by themselves, under the names the model sees. */
  tools: readonly Tool[];
  /** Tools that wait for a person. */
  humanTools: readonly Tool[];
  /** The tools that need an approval. */
  approvals: Approvals;
  subagents: readonly Subagent[];
  limits(model: Model): TurnLimits;
  /** Decides about tool calls; asks nobody. */
  policy: TurnPolicy;
  /** Undefined where conversations are not compacted. */
  compaction(): CompactionOptions | undefined;
  cost(model: string, tokens: TokenCounts): number | undefined;
}

export interface GraphDeps {
  agentName: string;
  config: AgentConfig;
  gateway: ModelGateway;
  tools: readonly Tool[];
  approvals: Approvals;
  /** Skills that can be read when they are needed. */
  skills: readonly SkillHead[];
  policy: TurnPolicy;
}

export function compileGraph(deps: GraphDeps): Graph {
  const { agentName, config, gateway, tools, approvals, skills, policy } = deps;
  const isEnabled = ({ name }: Tool) => !config.tools.disabled.includes(name);
  return {
    model: (name) => withSettings(gateway.languageModel(name), config.model),
    chosenModel: ({ model, byOperator }) =>
      byOperator || config.model.choices.includes(model)
        ? withSettings(roleModel(gateway, model) ?? gateway.languageModel(model), config.model)
        : undefined,
    instructions: leadInstructions(agentName, config, skills),
    tools,
    humanTools: humanTools.filter(isEnabled),
    approvals,
    subagents: config.subagents,
    limits: (model) => limitsOf(config.budget, model),
    policy,
    compaction: () => compactionOf(config.compaction, gateway),
    cost: (model, tokens) => costOf(gateway.price(model), tokens),
  };
}

/** Roles may have an endpoint of their own. */
function roleModel(gateway: ModelGateway, name: string): Model | undefined {
  if (name === 'helper') return gateway.fastModel();
  return name === 'judge' ? gateway.judgeModel() : undefined;
}

/** A turn whose model has said nothing for this long is cut, unless the model may take longer to begin. */
const usualTurnMs = 900_000;

/** How long a turn waits for a silent model: as configured, else as its profile says. */
function turnTimeoutMs({ turn_timeout_s }: AgentConfig['budget'], model: Model): number {
  if (turn_timeout_s !== undefined) return turn_timeout_s * 1000;
  return Math.max(usualTurnMs, silenceLimitMs(model, undefined));
}

function limitsOf(budget: AgentConfig['budget'], model: Model): TurnLimits {
  return {
    steps: budget.steps,
    toolTimeoutMs: budget.tool_timeout_s * 1000,
    turnTimeoutMs: turnTimeoutMs(budget, model),
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

/** The instructions of the lead agent. */
function leadInstructions(agentName: string, config: AgentConfig, skills: readonly SkillHead[]): string {
  const { name, operator, persona } = config.identity;
  return paragraphs([
    `You are ${name || agentName}, an agent that does tasks for people and for other agents${operator ? `, run by ${operator}` : ''}.`,
    persona,
    'Use tools where they give you facts or effects that you cannot have otherwise, and say what you found in plain words. A result that starts with "Error:" means that the call failed: mend the arguments, take another way, or tell the person what stands in the way. Never claim to have done what no tool has done.',
    subagentWords(config.subagents),
    skillWords(skills),
  ]);
}

/** The lead's instructions with the chosen skill, a digest of earlier sessions, and the zone of the person. */
export function turnInstructions(
  lead: string,
  skill: Skill | undefined,
  earlier: string,
  timezone?: string,
): string {
  return paragraphs([
    lead,
    skill === undefined ? '' : `For this task follow the skill "${skill.name}":\n${skill.body}`,
    earlier === '' ? '' : `Earlier sessions, newest first, for context only:\n${earlier}`,
    timezone === undefined
      ? ''
      : `The person's time zone is ${timezone}: the times they name are in it, and so are those you tell them.`,
  ]);
}

/** The tools that a skill lists, else all. */
export function toolsOfSkill(skill: Skill | undefined, tools: Tool[]): Tool[] {
  const names = skill?.tools;
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

export function subagentInstructions({ name, instructions }: { name: string; instructions: string }): string {
  return paragraphs([
    `You are ${name}, a helper to whom another agent hands one piece of work. You cannot ask anybody: where something is open, choose sensibly and say what you chose. Answer with the result alone.`,
    instructions,
  ]);
}

function subagentWords(subagents: AgentConfig['subagents']): string {
  if (subagents.length === 0) return '';
  const lines = subagents.map(({ name, description }) => `- ${name}: ${description}`);
  return `With the tools task and task_batch you can hand work to these helpers:\n${lines.join('\n')}`;
}

function skillWords(skills: readonly SkillHead[]): string {
  if (skills.length === 0) return '';
  const lines = skills.map(({ name, description }) => `- ${name}: ${description}`);
  return `When one of these skills fits the task, read it with load_skill first:\n${lines.join('\n')}`;
}

function paragraphs(texts: string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n');
}

const askHuman = defineTool({
  name: 'ask_human',
  effects: ['reads'],
  description:
    'Asks the person a question and waits for the answer. Use it only when you cannot go on without something that only the person knows or decides.',
  input: z.object({ question: z.string().min(1).describe('The question, in full.') }),
  pause: true,
});

const requestUserInput = defineTool({
  name: 'request_user_input',
  effects: ['reads'],
  description:
    'Shows the person a form of one or more steps and waits; the answer is a JSON text. Use it when you need several values at once.',
  input: z.object({
    title: z.string().min(1),
    steps: z
      .array(
        z.object({
          schema: z.record(z.string(), z.unknown()).describe('JSON schema of the values of this step.'),
          uiSchema: z.record(z.string(), z.unknown()).optional(),
          title: z.string().optional(),
          description: z.string().optional(),
        }),
      )
      .min(1),
    description: z.string().default(''),
  }),
  pause: true,
});

/** Tools that park the task until a person answers. Only the lead agent has them. */
const humanTools: readonly Tool[] = [askHuman, requestUserInput];

/** The tools for a turn in which nobody can be asked: calls that would wait are refused by the tool itself. */
export function withoutQuestions(tools: readonly Tool[]): RunningTool[] {
  return tools
    .filter((tool) => tool.pause !== true)
    .map((tool) => {
      const { pausesFor: _asks, ...running } = tool;
      return running;
    });
}
