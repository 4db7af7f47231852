import {
  type A2aClient,
  type CallOptions,
  type OutgoingMessage,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteEvent,
  type RemoteReply,
  type RemoteState,
  toolCallMediaType,
} from '@trunkline/a2a';
import {
  anonymous,
  handedOn,
  joinOrigins,
  type Origin,
  type Principal,
  withOrigins,
} from '@trunkline/identity';
import type { StoredFile } from '@trunkline/loop';
import { dataTexts, type FreshParts } from '@trunkline/tools';
import type { MessageFiles } from '../content/message-files.ts';
import type { ConversationStore } from '../conversations/conversation-store.ts';
import {
  cancellationOf,
  type OfferedSkill,
  runToEnd,
  type SkillContext,
  type SkillExecutor,
  type SkillFrame,
  type SkillRequest,
  type SkillResult,
  type SkillState,
} from '../dispatch/executor.ts';
import { fieldsOf, text } from '../dispatch/request.ts';

/** Stores the ids by which remote agents know conversations. */
export type RemoteMemory = Pick<ConversationStore, 'recall' | 'keep'>;

export interface RemoteParts {
  client: A2aClient;
  agent: RemoteAgent;
  skills: readonly OfferedSkill[];
  isPublic: boolean;
  streaming: boolean;
  /** It sends push notifications. */
  pushes: boolean;
  /** Skill to the agent that continues with the answer. */
  chain: Readonly<Record<string, string>>;
  findAgent(name: string): SkillExecutor | undefined;
  /** Limit of silence on one call. */
  timeoutMs: number;
  memory: RemoteMemory;
  files: Pick<MessageFiles, 'open' | 'fromParts'>;
  fresh: FreshParts;
  isApprover(principal: Principal): boolean;
}

const cancelTimeoutMs = 5000;

export function createRemoteExecutor(parts: RemoteParts): SkillExecutor {
  return {
    agent: parts.agent.name,
    type: 'a2a',
    isPeer: parts.agent.peer !== undefined,
    isPublic: parts.isPublic,
    skills: parts.skills,
    async execute(request, context) {
      try {
        return await settle(await call(request, context, parts), request, context, parts);
      } catch (error) {
        // Not a failure of the agent: our own services refuse unknown callers.
        if (!(error instanceof RemoteAgentError) || error.code !== 'agent_unknown_caller') throw error;
        return { content: '', error: error.message, taskState: 'rejected' };
      }
    },
    async resume(request, { taskId }, context) {
      const { client, agent, timeoutMs } = parts;
      const { principal } = request;
      const reply = await client.get(agent, taskId, { signal: context.signal, timeoutMs, principal });
      return await settle(reply, request, context, parts);
    },
    async cancel({ principal }, { taskId }) {
      await parts.client.cancel(parts.agent, taskId, { timeoutMs: cancelTimeoutMs, principal });
    },
  };
}

async function call(request: SkillRequest, context: SkillContext, parts: RemoteParts): Promise<RemoteReply> {
  const { client, agent, streaming, timeoutMs } = parts;
  const message = await messageOf(request, context, parts);
  const isAnswer = message.taskId !== undefined;
  const principal = isAnswer ? answering(request, parts) : request.principal;
  const { signal } = context;
  const options: CallOptions = {
    signal,
    timeoutMs,
    principal,
    // After a shutdown, or when our own time is up, the task is followed further.
    get cancelOnAbort() {
      return cancellationOf(signal) !== undefined;
    },
  };
  if (!streaming) return await client.send(agent, message, options);
  for await (const event of client.stream(agent, message, options)) {
    if (event.type === 'task-end') return event.reply;
    if (event.type === 'task-start') context.track?.(event);
    else for (const frame of framesOf(event)) context.tell({ ...frame, origins: originsOf(parts) });
  }
  throw new Error(`The stream of ${agent.name} ended without an end of its task.`);
}

/** An approver's own answer to a waiting task counts as approval there; other requests of theirs do not. */
function answering({ principal }: SkillRequest, { isApprover }: RemoteParts): Principal | undefined {
  return principal !== undefined && isApprover(principal) ? { ...principal, kind: 'approver' } : principal;
}

async function messageOf(
  request: SkillRequest,
  context: SkillContext,
  parts: RemoteParts,
): Promise<OutgoingMessage> {
  const { skill, content, correlationId, conversationId, requestId, principal } = request;
  const { files, lost } = await parts.files.open(request, principal);
  const gone = lost.map((words) => `[${words}]`);
  const known = conversationId === undefined ? {} : parts.memory.recall(conversationId, parts.agent.name);
  // Stays the same on redelivery, so that the agent can deduplicate; an agent may ask another several times in a turn.
  const key = request.turn ?? requestId;
  const messageId = request.chained ? `${key}-chained` : key;
  return {
    text: [content, ...gone].join('\n'),
    ...(files.length > 0 && {
      parts: files.map(({ bytes, name, mediaType }) => ({
        type: 'file' as const,
        name,
        mediaType,
        bytes: Buffer.from(bytes).toString('base64'),
      })),
    }),
    ...known,
    messageId,
    metadata: { skillHint: skill, correlationId, idempotencyKey: messageId },
    ...(parts.pushes && context.callback && { push: context.callback }),
  };
}

function* framesOf(event: RemoteEvent): Generator<SkillFrame> {
  if (event.type === 'status' && event.text !== '') yield { type: 'progress', text: event.text };
  if (event.type === 'text-delta') yield { type: 'progress', text: event.text };
  if (event.type !== 'artifact') return;
  for (const part of event.artifact.parts) {
    if (part.type === 'data' && part.metadata?.mimeType === toolCallMediaType) yield toolFrameOf(part.data);
  }
}

function toolFrameOf(data: unknown): SkillFrame {
  const { toolCallId, name, phase, args, result } = fieldsOf(data);
  const head = { toolCallId: text(toolCallId) ?? '', name: text(name) ?? '' };
  if (phase === 'started') return { type: 'tool-start', ...head, input: args ?? {} };
  const said = typeof result === 'string' ? result : JSON.stringify(result ?? '');
  return { type: 'tool-end', ...head, result: said, failed: phase === 'failed' };
}

async function settle(
  reply: RemoteReply,
  request: SkillRequest,
  context: SkillContext,
  parts: RemoteParts,
): Promise<SkillResult> {
  const made = await contentsIn(reply, request, context, parts);
  const result = { ...resultOf(reply, parts.agent.name, made), origins: originsOf(parts) };
  if (request.conversationId !== undefined) remember(request.conversationId, result, parts);
  return await goOn(request, result, context, parts);
}

/** What an answer holds besides its text; the agent's own address may hold files that it gives as links. */
async function contentsIn(
  reply: RemoteReply,
  { principal = anonymous }: SkillRequest,
  { signal }: SkillContext,
  { files, agent, fresh }: RemoteParts,
): Promise<Contents> {
  if (isUnderWay(reply)) return { files: [], notes: [] };
  const { origin } = new URL(agent.url);
  const parts = fresh.of(reply);
  const { files: stored, problems } = await files.fromParts(parts, principal, { origin, signal });
  return { files: stored, notes: [...dataTexts(parts), ...problems] };
}

interface Contents {
  files: readonly StoredFile[];
  /** Data in words, and why a file could not be read. */
  notes: readonly string[];
}

function isUnderWay({ state }: RemoteReply): boolean {
  return state === 'working' || state === 'submitted';
}

function originsOf({ agent }: RemoteParts): readonly Origin[] {
  return [{ kind: 'delegate_to', source: agent.name }];
}

/** The next message of the conversation answers a task that asked back. */
function remember(conversationId: string, result: SkillResult, { memory, agent }: RemoteParts): void {
  const { contextId, taskId, taskState } = result;
  const isWaiting = taskState === 'input-required' && taskId !== undefined;
  memory.keep(conversationId, agent.name, {
    ...(contextId !== undefined && { contextId }),
    ...(isWaiting && { taskId }),
  });
}

function resultOf(reply: RemoteReply, name: string, { files, notes }: Contents): SkillResult {
  const { state, text: answer, statusText, taskId, contextId } = reply;
  const withNotes = (words: string) => [words, ...notes].filter((each) => each !== '').join('\n');
  const said = withNotes(answer);
  const ids = {
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
    ...(files.length > 0 && { files }),
  };
  if (isUnderWay(reply) && taskId) return { content: said, taskState: 'working', ...ids };
  if (state === 'input-required' || state === 'auth-required') {
    return { content: withNotes(statusText || answer), taskState: 'input-required', ...ids };
  }
  if (state === 'completed' && (said !== '' || files.length > 0))
    return { content: said, taskState: 'completed', ...ids };
  const error =
    state === 'completed' ? `${name} finished without an answer` : statusText || `the task was ${state}`;
  return { content: said, error, taskState: failedState(state), ...ids };
}

function failedState(state: RemoteState): SkillState {
  return state === 'canceled' || state === 'rejected' ? state : 'failed';
}

/** Chains are one level deep: the named agent gets the answer as context. */
async function goOn(
  request: SkillRequest,
  result: SkillResult,
  context: SkillContext,
  { chain, findAgent, agent }: RemoteParts,
): Promise<SkillResult> {
  const name = chain[request.skill];
  if (name === undefined || request.chained || result.taskState !== 'completed') return result;
  const next = findAgent(name);
  const skill = next?.skills.find((offered) => offered.name === request.skill) ?? next?.skills[0];
  if (next === undefined || skill === undefined) {
    return {
      ...result,
      error: `${agent.name} answered, but there is no agent ${name} to go on`,
      taskState: 'failed',
    };
  }
  const content = `${request.content}\n\n${agent.name} answered:\n${result.content}`;
  const { signal, tell, slot } = context;
  slot?.release();
  const { origins } = result;
  const principal = withOrigins(handedOn(request.principal ?? anonymous, agent.name), origins);
  const following = { ...request, agent: name, skill: skill.name, content, principal, chained: true };
  const end = await runToEnd(next, following, { signal, tell });
  const files = [...(result.files ?? []), ...(end.files ?? [])];
  return {
    ...end,
    origins: joinOrigins(origins, end.origins),
    chained: true,
    ...(files.length > 0 && { files }),
  };
}
