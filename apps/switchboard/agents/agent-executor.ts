import type { ModelGateway, Tool } from '@trunkline/llm';
import { runTurn, type TurnEvent } from '@trunkline/loop';
import { createDelegateTo, type Delegate, DelegateError } from '@trunkline/tools';
import type { SkillContext, SkillExecutor, SkillRequest, SkillResult } from '../dispatch/executor.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { createAskHuman } from '../human/ask-human.ts';
import type { HumanDesk } from '../human/human-desk.ts';
import type { AgentDefinition } from '../workspace/schema/agent.ts';
import { type ToolParts, whitelistedTools } from './agent-tools.ts';

export interface AgentParts extends ToolParts {
  gateway: ModelGateway;
  registry: ExecutorRegistry;
  turnTimeoutMs: number;
  desk: HumanDesk;
}

/** Work may be handed on twice: from the first agent to a second, and from that to a third. */
const deepest = 2;
const toolTimeoutMs = 120_000;

/** An agent of `agents/`, run in this process. */
export function createAgentExecutor(agent: AgentDefinition, parts: AgentParts): SkillExecutor {
  return {
    agent: agent.name,
    type: 'in-process',
    skills: agent.skills.map(({ name, description = '', keywords }) => ({ name, description, keywords })),
    execute: (request, context) => runAgent(agent, request, context, parts),
  };
}

async function runAgent(
  agent: AgentDefinition,
  request: SkillRequest,
  context: SkillContext,
  parts: AgentParts,
): Promise<SkillResult> {
  const skill = agent.skills.find(({ name }) => name === request.skill);
  const events = runTurn({
    model: parts.gateway.languageModel(agent.model),
    instructions: skill?.systemPromptOverride ?? agent.systemPrompt,
    tools: toolsOf(agent, request, context, parts),
    limits: {
      steps: agent.maxTurns === -1 ? Number.MAX_SAFE_INTEGER : agent.maxTurns,
      toolTimeoutMs,
      turnTimeoutMs: parts.turnTimeoutMs,
    },
    sessionId: request.correlationId,
    signal: context.signal,
    messages: [{ role: 'user', content: request.content }],
  });
  for await (const event of events) {
    const result = follow(event, context);
    if (result !== undefined) return result;
  }
  throw new Error(`The turn of ${agent.name} ended without an end.`);
}

/** Tells what goes on; gives the result when the turn is over. */
function follow(event: TurnEvent, { tell }: SkillContext): SkillResult | undefined {
  switch (event.type) {
    case 'text-delta':
      tell({ type: 'progress', text: event.text });
      return undefined;
    case 'tool-start':
      tell({ type: 'tool-start', toolCallId: event.toolCallId, name: event.name, input: event.input });
      return undefined;
    case 'tool-end': {
      const { toolCallId, name, result, failed } = event;
      tell({ type: 'tool-end', toolCallId, name, result, failed });
      return undefined;
    }
    case 'end':
      return { content: event.text, taskState: 'completed', usage: usageOf(event) };
    case 'error':
      return { content: event.text, error: event.message, taskState: 'failed', usage: usageOf(event) };
    default:
      return undefined;
  }
}

function usageOf({ usage }: Extract<TurnEvent, { type: 'end' | 'error' }>) {
  const { inputTokens, outputTokens, totalTokens } = usage;
  return { inputTokens, outputTokens, totalTokens };
}

function toolsOf(
  agent: AgentDefinition,
  request: SkillRequest,
  context: SkillContext,
  parts: AgentParts,
): Tool[] {
  const whitelist: readonly string[] = agent.tools;
  const listed = whitelistedTools(parts, request.correlationId, agent.name).filter(({ name }) =>
    whitelist.includes(name),
  );
  const own = [...listed, createAskHuman(parts.desk, request.correlationId, context)];
  const delegates = request.depth < deepest ? delegatesOf(agent, request, context, parts) : [];
  return delegates.length === 0 ? own : [...own, createDelegateTo({ delegates })];
}

function delegatesOf(
  agent: AgentDefinition,
  request: SkillRequest,
  { tell }: SkillContext,
  { registry }: AgentParts,
): Delegate[] {
  return agent.canDelegate.flatMap((name) => {
    const executor = registry.agent(name);
    const skill = executor?.skills[0];
    if (executor === undefined || skill === undefined) return [];
    const description = executor.skills.map((offered) => offered.description || offered.name).join(' ');
    return {
      name,
      description,
      ask: (query, { signal }) => ask(executor, skill.name, query, request, { signal, tell }),
    };
  });
}

async function ask(
  executor: SkillExecutor,
  skill: string,
  content: string,
  { correlationId, depth }: SkillRequest,
  context: SkillContext,
): Promise<string> {
  const result = await executor.execute({ skill, content, correlationId, depth: depth + 1 }, context);
  if (result.error !== undefined)
    throw new DelegateError('delegate_failed', `${executor.agent}: ${result.error}`);
  return result.content;
}
