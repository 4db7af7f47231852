import { setTimeout as delay } from 'node:timers/promises';
import type {
  A2aClient,
  CallOptions,
  OutgoingMessage,
  RemoteAgent,
  RemoteReply,
  RemoteState,
} from '@trunkline/a2a';
import type {
  OfferedSkill,
  SkillContext,
  SkillExecutor,
  SkillRequest,
  SkillResult,
  SkillState,
} from '../dispatch/executor.ts';

export interface RemoteParts {
  client: A2aClient;
  agent: RemoteAgent;
  skills: readonly OfferedSkill[];
  streaming: boolean;
  /** By skill, the agent that goes on with the answer. */
  chain: Readonly<Record<string, string>>;
  findAgent(name: string): SkillExecutor | undefined;
  /** How long one call may be silent. */
  timeoutMs: number;
  pollMs: number;
}

/** An agent of another service, reached over A2A. */
export function createRemoteExecutor(parts: RemoteParts): SkillExecutor {
  return {
    agent: parts.agent.name,
    type: 'a2a',
    skills: parts.skills,
    async execute(request, context) {
      const reply = await untilSettled(await call(request, context, parts), context, parts);
      const result = resultOf(reply, parts.agent.name);
      return await goOn(request, result, context, parts);
    },
  };
}

async function call(request: SkillRequest, context: SkillContext, parts: RemoteParts): Promise<RemoteReply> {
  const { client, agent, streaming, timeoutMs } = parts;
  const { skill, content, correlationId } = request;
  const message: OutgoingMessage = { text: content, metadata: { skillHint: skill, correlationId } };
  const options: CallOptions = { signal: context.signal, timeoutMs };
  if (!streaming) return await client.send(agent, message, options);
  for await (const event of client.stream(agent, message, options)) {
    if (event.type === 'task-end') return event.reply;
    if (event.type === 'status' && event.text !== '') context.tell({ type: 'progress', text: event.text });
    if (event.type === 'text-delta') context.tell({ type: 'progress', text: event.text });
  }
  throw new Error(`The stream of ${agent.name} ended without an end of its task.`);
}

/** A task that is still being worked on is asked after until it is not. */
async function untilSettled(
  first: RemoteReply,
  { signal }: SkillContext,
  parts: RemoteParts,
): Promise<RemoteReply> {
  let reply = first;
  while (isRunning(reply.state) && reply.taskId !== undefined) {
    await delay(parts.pollMs, undefined, { signal });
    reply = await parts.client.get(parts.agent, reply.taskId, { signal, timeoutMs: parts.timeoutMs });
  }
  return reply;
}

function isRunning(state: RemoteState): boolean {
  return state === 'working' || state === 'submitted';
}

function resultOf({ state, text, statusText, taskId, contextId }: RemoteReply, name: string): SkillResult {
  const ids = { ...(taskId !== undefined && { taskId }), ...(contextId !== undefined && { contextId }) };
  if (state === 'input-required' || state === 'auth-required') {
    return { content: statusText || text, taskState: 'input-required', ...ids };
  }
  if (state === 'completed' && text !== '') return { content: text, taskState: 'completed', ...ids };
  const error =
    state === 'completed' ? `${name} finished without an answer` : statusText || `the task was ${state}`;
  return { content: text, error, taskState: failedState(state), ...ids };
}

function failedState(state: RemoteState): SkillState {
  return state === 'canceled' || state === 'rejected' ? state : 'failed';
}

/** One level of chain: the named agent gets the answer as context. */
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
  return await next.execute({ ...request, agent: name, skill: skill.name, content, chained: true }, context);
}
