import { anonymous, handedOn } from '@trunkline/identity';
import { costOf, type ModelGateway, priceOf, type Tool, type ToolContext } from '@trunkline/llm';
import { markOf, runTurn, type TurnEvent, type TurnPolicy } from '@trunkline/loop';
import type { Policy } from '@trunkline/policy';
import {
  approvalText,
  createDelegateTo,
  type Delegate,
  DelegateError,
  readScope,
  readVerdict,
} from '@trunkline/tools';
import type { TurnMemory } from '../conversations/conversation-store.ts';
import type { AgentLimiter } from '../dispatch/agent-limiter.ts';
import {
  runToEnd,
  type SkillContext,
  type SkillExecutor,
  type SkillRequest,
  type SkillResult,
} from '../dispatch/executor.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { askLimitMs, createAskHuman, type HumanInput } from '../human/human-input.ts';
import type { AgentDefinition } from '../workspace/schema/agent.ts';
import { type BuiltInSettings, builtInTools, type ToolParts, whitelistedTools } from './agent-tools.ts';

export interface AgentParts extends ToolParts {
  gateway: ModelGateway;
  registry: ExecutorRegistry;
  limiter: AgentLimiter;
  turnTimeoutMs: number;
  humanInput: HumanInput;
  policy: Policy;
  memory: TurnMemory;
  builtIn: BuiltInSettings;
  /** Tools of MCP servers and plugins that this agent may use. */
  moreTools(agent: string): Tool[];
}

/** Delegation depth: from the first agent to a second, and from that to a third. */
const deepest = 2;
const toolTimeoutMs = 120_000;
/** Failures that do not count against the model's circuit breaker. */
const ownFaults: ReadonlySet<string> = new Set([
  'aborted',
  'bad-request',
  'context-too-long',
  'bad-checkpoint',
]);

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
    principal: request.principal ?? anonymous,
    policy: policyOf(agent, request, context, parts),
    cost: (model, tokens) => costOf(priceOf(model), tokens),
    signal: context.signal,
    messages: [...remembered(agent, request, parts), { role: 'user', content: request.content }],
  });
  for await (const event of events) {
    const result = follow(event, context);
    if (result === undefined) continue;
    remember(agent, request, result, parts);
    return result;
  }
  throw new Error(`The turn of ${agent.name} ended without an end.`);
}

/** What policy asks about goes to the people who may approve, as any other approval of an agent. */
function policyOf(
  { name }: AgentDefinition,
  { correlationId }: SkillRequest,
  { tell }: SkillContext,
  { humanInput, policy }: AgentParts,
): TurnPolicy {
  return {
    ...policy.for(name),
    async ask({ request, input, rule, why }, signal) {
      const { tool } = request;
      const text = JSON.stringify(input, null, 2) ?? '';
      const subject = {
        title: `May I use ${tool}?`,
        noun: 'call',
        text,
        directory: '',
        reason: why,
        files: [],
      };
      const question = `${name}: ${approvalText(subject)}\nAnswer yes, yes for this task, always, or no.`;
      tell({ type: 'input-start', question });
      const answer = await humanInput.askApproval(correlationId, question, askLimitMs, signal);
      tell({ type: 'input-end', answered: answer !== undefined });
      if (answer === undefined)
        return { refused: 'nobody has approved it yet. Say what is still open and end.' };
      const { answer: said, scope } = readScope(answer);
      if (readVerdict(said) !== 'yes')
        return { refused: `the person did not approve it and said: ${answer}` };
      if (scope === 'always')
        await policy.allowAlways(request, { decision: 'ask', rule, why }, 'approved on the switchboard');
      return scope === 'once' ? 'once' : 'task';
    },
  };
}

function remembered({ name }: AgentDefinition, { conversationId }: SkillRequest, { memory }: AgentParts) {
  if (conversationId === undefined) return [];
  return memory.recall(conversationId, name).flatMap(({ said, answered, origins, saidOrigins }) => [
    { role: 'user' as const, content: said, ...markOf(saidOrigins) },
    { role: 'assistant' as const, content: answered, ...markOf(origins) },
  ]);
}

function remember(
  { name: agent }: AgentDefinition,
  { conversationId, requestId, content, principal }: SkillRequest,
  result: SkillResult,
  { memory }: AgentParts,
): void {
  if (conversationId === undefined || result.error !== undefined) return;
  memory.note({
    conversationId,
    agent,
    requestId,
    said: content,
    answered: result.content,
    origins: result.origins,
    saidOrigins: principal?.origins,
  });
}

/** Reports progress; returns the result when the turn has ended. */
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
      return {
        content: event.text,
        taskState: 'completed',
        usage: usageOf(event),
        ...(event.origins && { origins: event.origins }),
      };
    case 'error': {
      const { text: content, message: error, code } = event;
      const unavailable = !ownFaults.has(code);
      return { content, error, taskState: 'failed', usage: usageOf(event), unavailable };
    }
    default:
      return undefined;
  }
}

function usageOf({ usage }: Extract<TurnEvent, { type: 'end' | 'error' }>) {
  const { inputTokens, outputTokens, totalTokens, costUsd } = usage;
  return { inputTokens, outputTokens, totalTokens, ...(costUsd !== undefined && { costUsd }) };
}

/** An agent with an empty whitelist may only ask a person and delegate. */
function toolsOf(
  agent: AgentDefinition,
  request: SkillRequest,
  context: SkillContext,
  parts: AgentParts,
): Tool[] {
  const delegates = request.depth < deepest ? delegatesOf(agent, request, context, parts) : [];
  return [
    ...(agent.tools.length === 0 ? [] : workTools(agent, request, context, parts)),
    createAskHuman(parts.humanInput, request.correlationId, context),
    ...(delegates.length === 0 ? [] : [createDelegateTo({ delegates })]),
  ];
}

function workTools(
  agent: AgentDefinition,
  { correlationId, principal }: SkillRequest,
  context: SkillContext,
  parts: AgentParts,
): Tool[] {
  const { name } = agent;
  const whitelist: readonly string[] = agent.tools;
  return [
    ...whitelistedTools(parts, { correlationId, principal }, agent).filter((tool) =>
      whitelist.includes(tool.name),
    ),
    ...builtInTools(
      parts.builtIn,
      parts.humanInput,
      { agent: name, correlationId, mayRunCommands: agent.runCommand },
      context,
    ),
    ...parts.moreTools(name),
  ];
}

function delegatesOf(
  agent: AgentDefinition,
  request: SkillRequest,
  { tell, slot }: SkillContext,
  { registry, limiter }: AgentParts,
): Delegate[] {
  return agent.canDelegate.flatMap((name) => {
    const executor = registry.agent(name);
    const skill = executor?.skills[0];
    if (executor === undefined || skill === undefined) return [];
    const description = executor.skills.map((offered) => offered.description || offered.name).join(' ');
    return {
      name,
      description,
      internal: executor.type === 'in-process' || executor.isPeer === true,
      reportsOrigins: true,
      ask: (query, { signal, principal = request.principal, addOrigins }) => {
        const wait = () =>
          ask(
            limiter.limited(executor),
            skill.name,
            query,
            delegated({ ...request, ...(principal && { principal }) }, agent),
            { signal, tell, addOrigins },
          );
        return slot === undefined ? wait() : slot.lend(wait, signal);
      },
    };
  });
}

/** The delegated request runs on behalf of whoever asked, not in person: its text comes from a model. */
function delegated(
  { requestId, correlationId, depth, principal = anonymous }: SkillRequest,
  { name }: AgentDefinition,
): Omit<SkillRequest, 'skill' | 'content'> {
  return { requestId, correlationId, depth: depth + 1, principal: handedOn(principal, name) };
}

async function ask(
  executor: SkillExecutor,
  skill: string,
  content: string,
  asked: Omit<SkillRequest, 'skill' | 'content'>,
  { addOrigins, ...context }: SkillContext & Pick<ToolContext, 'addOrigins'>,
): Promise<string> {
  const request = { ...asked, skill, content };
  const result = await runToEnd(executor, request, context);
  // An agent of this process says what it has read; what others say comes from outside.
  const origins = [{ kind: 'delegate_to', source: executor.agent }];
  addOrigins?.(executor.type === 'in-process' ? (result.origins ?? []) : origins);
  if (result.error !== undefined)
    throw new DelegateError('delegate_failed', `${executor.agent}: ${result.error}`);
  return result.content;
}
