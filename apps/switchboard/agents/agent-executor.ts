import { anonymous, handedOn } from '@trunkline/identity';
import {
  costOf,
  type ForeignDescription,
  foreignDescription,
  type ModelGateway,
  quoteDescription,
  silenceLimitMs,
  type Tool,
  type ToolContext,
  usualSilenceMs,
} from '@trunkline/llm';
import {
  compactionNote,
  interruptedRule,
  markOf,
  originsIn,
  runTurn,
  type StepLog,
  type StoredFile,
  type TurnPolicy,
  userContent,
} from '@trunkline/loop';
import type { askingAtOnce } from '@trunkline/mcp';
import type { Policy } from '@trunkline/policy';
import { readVerdict } from '@trunkline/std';
import {
  approvalText,
  contentTools,
  createDelegateTo,
  type Delegate,
  DelegateError,
  HOW_TO_ANSWER,
  readScope,
} from '@trunkline/tools';
import type { MessageFiles } from '../content/message-files.ts';
import { mentionOf } from '../content/references.ts';
import type { TurnMemory } from '../conversations/conversation-store.ts';
import { ownerOfMessage } from '../core/messages.ts';
import type { AgentLimiter } from '../dispatch/agent-limiter.ts';
import {
  runToEnd,
  type SkillContext,
  type SkillExecutor,
  type SkillFrame,
  type SkillRequest,
  type SkillResult,
} from '../dispatch/executor.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { approvalEnd, askLimitMs, askPerson, createAskHuman, type HumanInput } from '../human/human-input.ts';
import type { AgentDefinition } from '../workspace/schema/agent.ts';
import { type BuiltInSettings, builtInTools, type ToolParts, whitelistedTools } from './agent-tools.ts';
import {
  retriedSteps,
  type StepStore,
  stepsAfter,
  stepsGone,
  stepsUnlessElsewhere,
  turnOf,
} from './step-store.ts';
import { createProgress } from './turn-progress.ts';

export interface AgentParts extends ToolParts {
  gateway: ModelGateway;
  registry: ExecutorRegistry;
  limiter: AgentLimiter;
  /** SWITCHBOARD_SKILL_TIMEOUT_MS. */
  turnTimeoutMs: number | undefined;
  humanInput: HumanInput;
  policy: Policy;
  memory: TurnMemory;
  files: Pick<MessageFiles, 'contents' | 'text' | 'turnFiles'>;
  steps: StepStore;
  builtIn: BuiltInSettings;
  /** Tools of MCP servers and plugins that this agent may use; `ask` asks the person for a server. */
  moreTools(agent: string, ask: Parameters<typeof askingAtOnce>[1]): Tool[];
}

/** Delegation depth: from the first agent to a second, and from that to a third. */
const deepest = 2;
const toolTimeoutMs = 120_000;

export function createAgentExecutor(agent: AgentDefinition, parts: AgentParts): SkillExecutor {
  return {
    agent: agent.name,
    type: 'in-process',
    isPublic: agent.public,
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
  const principal = request.principal ?? anonymous;
  const contents = request.files ? await parts.files.contents(request, principal, context.signal) : [];
  const messages = [
    ...remembered(agent, request, parts),
    { role: 'user' as const, content: userContent(request.content, contents) },
  ];
  const notes: string[] = [];
  const made: StoredFile[] = [];
  const turn = request.turn ?? turnOf(agent.name, request);
  const steps = await stepsOf(agent, request, context, parts);
  if (steps === undefined) return { content: '', error: stepsGone, taskState: 'failed' };
  const model = parts.gateway.languageModel(agent.model);
  const silentMs = silenceLimitMs(model, parts.turnTimeoutMs);
  // Whoever waits for this agent waits as long as the agent does for its model.
  const longerMs = parts.turnTimeoutMs === undefined ? Math.max(0, silentMs - usualSilenceMs) : 0;
  const extend = (waitMs = 0) => context.extend?.(waitMs + longerMs);
  extend();
  let usedTools = false;
  const events = runTurn({
    model,
    instructions: skill?.systemPromptOverride ?? agent.systemPrompt,
    tools: toolsOf(agent, request, { ...context, made }, parts),
    limits: {
      steps: agent.maxTurns === -1 ? Number.MAX_SAFE_INTEGER : agent.maxTurns,
      toolTimeoutMs,
      turnTimeoutMs: silentMs,
    },
    sessionId: request.correlationId,
    principal,
    files: parts.files.turnFiles(principal),
    policy: policyOf(agent, request, context, parts, (note) => notes.push(note)),
    cost: (model, tokens) => costOf(parts.gateway.price(model), tokens),
    signal: context.signal,
    onActivity: extend,
    steps: {
      log: steps,
      turn,
      resumes: request.resumes === true || request.retries !== undefined,
      onProblem: (error) => parts.steps.warn(error),
    },
    messages,
  });
  const progress = createProgress(context, originsIn(messages));
  for await (const event of events) {
    if (event.type === 'compaction' && notes.length === 0) notes.push(compactionNote(event));
    usedTools ||= event.type === 'tool-end';
    if (event.type === 'tool-end') made.push(...(event.files ?? []));
    if ('file' in event) made.push(event.file);
    const result = progress(event);
    if (result === undefined) continue;
    await remember(agent, request, result, parts);
    if (result.error === undefined && usedTools) parts.steps.forgetLater(turn);
    return {
      ...result,
      content: [...notes, result.content].join('\n\n'),
      ...(made.length > 0 && { files: made }),
    };
  }
  throw new Error(`The turn of ${agent.name} ended without an end.`);
}

/** A request that is retried from a step on begins with the steps before it. */
async function stepsOf(
  { name: agent }: AgentDefinition,
  { retries, principal }: SkillRequest,
  { isElsewhere }: SkillContext,
  { steps }: AgentParts,
): Promise<StepLog | undefined> {
  const own = stepsUnlessElsewhere(steps, isElsewhere);
  if (retries === undefined) return own;
  const past = await retriedSteps(steps, retries, { agent, principal });
  return past && stepsAfter(past, own);
}

/** What policy asks about goes to the people who may approve, as any other approval of an agent. */
function policyOf(
  { name }: AgentDefinition,
  skillRequest: SkillRequest,
  { tell }: SkillContext,
  { humanInput, policy }: AgentParts,
  note: (words: string) => void,
): TurnPolicy {
  return {
    ...policy.for(name),
    async ask({ request, input, rule, why, accepts, isTaskOnly }, signal) {
      const { tool } = request;
      const text = JSON.stringify(input, null, 2) ?? '';
      const subject = {
        title: `${name}: May I use ${tool}?`,
        noun: 'call',
        text,
        directory: '',
        reason: why,
        rule,
        files: [],
      };
      const question = `${approvalText(subject)}\n${HOW_TO_ANSWER}`;
      tell({ type: 'input-start', question });
      const asker = { ...skillRequest, about: { tool, input, rule, subject, isTaskOnly } };
      const answer = await humanInput.askApproval(asker, question, askLimitMs, signal);
      tell(approvalEnd(answer));
      if (answer === undefined)
        return { refused: 'nobody has approved it yet. Say what is still open and end.' };
      const { answer: said, scope } = readScope(answer);
      if (readVerdict(said) !== 'yes')
        return { refused: `the person did not approve it and said: ${answer}` };
      if (scope === 'always' && rule !== interruptedRule) {
        const asked = { decision: 'ask' as const, rule, why, accepts };
        const problem = await policy.allowAlways(request, asked, 'approved on the switchboard');
        if (problem !== undefined) note(`${problem} The answer counts for this task.`);
      }
      return scope === 'once' ? 'once' : 'task';
    },
  };
}

function remembered(
  { name }: AgentDefinition,
  { conversationId, principal = anonymous }: SkillRequest,
  { memory }: AgentParts,
) {
  if (conversationId === undefined) return [];
  return memory
    .recall(conversationId, name, principal)
    .flatMap(({ said, answered, origins, saidOrigins }) => [
      { role: 'user' as const, content: said, ...markOf(saidOrigins) },
      { role: 'assistant' as const, content: answered, ...markOf(origins) },
    ]);
}

async function remember(
  { name: agent }: AgentDefinition,
  { conversationId, requestId, content, files = [], principal }: SkillRequest,
  result: SkillResult,
  { memory }: AgentParts,
): Promise<void> {
  if (conversationId === undefined || result.error !== undefined) return;
  await memory.note({
    conversationId,
    agent,
    requestId,
    said: [content, ...files.map(mentionOf)].join('\n'),
    answered: result.content,
    origins: result.origins,
    saidOrigins: principal?.origins,
    owner: ownerOfMessage({ principal }),
  });
}

/** An agent with an empty whitelist may only ask a person and delegate. */
function toolsOf(
  agent: AgentDefinition,
  request: SkillRequest,
  context: SkillContext,
  parts: AgentParts,
): Tool[] {
  const own = [
    ...(agent.tools.length === 0 ? [] : workTools(agent, request, context, parts)),
    createAskHuman(parts.humanInput, request, context),
  ];
  const named = ['delegate_to', ...own.map(({ name }) => name)];
  const delegates = request.depth < deepest ? delegatesOf(agent, request, context, parts, named) : [];
  return [...own, ...(delegates.length === 0 ? [] : [createDelegateTo({ delegates })])];
}

/** The tools of all agents, each once. None of them is to be run. */
export function toolsOfAgents(agents: readonly AgentDefinition[], parts: AgentParts): Tool[] {
  const request = { requestId: '', correlationId: '', skill: '', content: '', depth: 0 };
  const context = { signal: new AbortController().signal, tell: () => undefined };
  const tools = agents.flatMap((agent) => toolsOf(agent, request, context, parts));
  const described = (name: string) =>
    tools.flatMap((tool) => (tool.name === name ? (tool.describedIn ?? []) : []));
  return [...new Map(tools.map((tool) => [tool.name, tool])).values()].map((tool) => ({
    ...tool,
    describedIn: described(tool.name),
  }));
}

function workTools(
  agent: AgentDefinition,
  request: SkillRequest,
  context: SkillContext,
  parts: AgentParts,
): Tool[] {
  const { name } = agent;
  const { correlationId, principal, files: named = [] } = request;
  const whitelist: readonly string[] = agent.tools;
  return [
    ...whitelistedTools(parts, { correlationId, principal }, agent).filter((tool) =>
      whitelist.includes(tool.name),
    ),
    ...contentTools({
      nameOf: (id) => named.find((file) => file.id === id)?.name,
      read: (id, { principal = anonymous, signal }) => parts.files.text(id, principal, { named, signal }),
    }),
    ...builtInTools(
      parts.builtIn,
      parts.humanInput,
      { agent: name, correlationId, principal, mayRunCommands: agent.runCommand },
      context,
    ),
    ...parts.moreTools(name, (question, signal) =>
      askPerson(parts.humanInput, request, context, question, signal),
    ),
  ];
}

function delegatesOf(
  agent: AgentDefinition,
  request: SkillRequest,
  { tell, slot, made }: SkillContext,
  { registry, limiter }: AgentParts,
  tools: readonly string[],
): Delegate[] {
  return agent.canDelegate.flatMap((name) => {
    const executor = registry.agent(name);
    const skill = executor?.skills[0];
    if (executor === undefined || skill === undefined) return [];
    const description = describe(executor, tools);
    const describedIn = cardOf(executor);
    const internal = executor.type === 'in-process' || executor.isPeer === true;
    return {
      name,
      description,
      describedIn,
      internal,
      reportsOrigins: true,
      idempotent: internal,
      ask: (query, { signal, principal = request.principal, addOrigins, ...asked }) => {
        const { approved, idempotencyKey, onActivity } = asked;
        const told = (frame: SkillFrame) => {
          onActivity?.(0);
          tell(frame);
        };
        const wait = () =>
          ask(
            limiter.limited(executor),
            skill.name,
            query,
            {
              ...delegated({ ...request, ...(principal && { principal }) }, agent),
              ...(approved && { approved }),
              // Another's agent gets what the model writes to it, and no files.
              ...(internal && request.files && { files: request.files }),
              ...(idempotencyKey && { turn: idempotencyKey }),
            },
            { signal, tell: told, addOrigins, made, ...(onActivity && { extend: onActivity }) },
          );
        return slot === undefined ? wait() : slot.lend(wait, signal);
      },
    };
  });
}

/** What it says of itself, where the operator does not vouch for it. */
function cardOf({ agent, type, skills, isPeer }: SkillExecutor): ForeignDescription | undefined {
  const foreign = skills.filter((offered) => offered.foreign === true && !isPeer);
  if (foreign.length === 0) return undefined;
  return foreignDescription(type === 'mcp' ? 'mcp-description' : 'agent-card', agent, foreign);
}

/** What the executor's skills are for; words that are not the operator's are quoted and cannot speak of our tools. */
function describe({ agent, skills, isPeer }: SkillExecutor, tools: readonly string[]): string {
  const told = (foreign: boolean) =>
    skills
      .filter((offered) => (offered.foreign === true && !isPeer) === foreign)
      .map(({ description, name }) => description || name)
      .join(' ');
  const [own, others] = [told(false), told(true)];
  return [own, others && quoteDescription(agent, others, tools)].filter((words) => words !== '').join(' ');
}

/** The delegated request runs on behalf of whoever asked, not in person: its text comes from a model. */
function delegated(
  { requestId, correlationId, depth, resumes = false, principal = anonymous }: SkillRequest,
  { name }: AgentDefinition,
): Omit<SkillRequest, 'skill' | 'content'> {
  return { requestId, correlationId, resumes, depth: depth + 1, principal: handedOn(principal, name) };
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
  context.made?.push(...(result.files ?? []));
  if (result.error !== undefined)
    throw new DelegateError('delegate_failed', `${executor.agent}: ${result.error}`);
  const names = (result.files ?? []).map(({ name }) => name).join(', ');
  return result.content.trim() === '' && names !== '' ? `(answered with files: ${names})` : result.content;
}
