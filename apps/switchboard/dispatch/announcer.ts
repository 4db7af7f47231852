import { type Bus, type Draft, escapeSegment } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { type Origin, withOrigins } from '@trunkline/identity';
import type { Flow } from '../api-types.ts';
import { derivedId, onBehalf } from '../core/messages.ts';
import type { SkillExecutor, SkillFrame, SkillResult } from './executor.ts';
import type { DropReason } from './registry.ts';
import type { Dispatch } from './request.ts';

export interface Times {
  startedAt: number;
  endedAt: number;
}

/** Written once: a text that is put together anew is hashed anew for each look whether anybody hears it. */
const flowTopics = {
  created: 'flow.item.created',
  updated: 'flow.item.updated',
  completed: 'flow.item.completed',
} as const;
const chatTopics = { inbound: 'agent.chat.inbound', outbound: 'agent.chat.outbound' } as const;

/** Undefined where nobody hears the message, so that nobody waits for it either. */
type Announced = Promise<unknown> | undefined;

export function createAnnouncer(bus: Bus, logger: Logger) {
  function flow(
    event: 'created' | 'updated' | 'completed',
    flow: Flow | undefined,
    dispatch: Dispatch,
    origins?: readonly Origin[],
  ): Announced {
    const topic = flowTopics[event];
    if (flow === undefined || !bus.isHeard(topic)) return undefined;
    // Readers of flows may not be allowed to read requests.
    const told = { ...flow, requestPreview: undefined };
    return bus.publish(about(dispatch, topic, told, origins));
  }

  async function dropped(reason: DropReason, why: string, dispatch: Dispatch): Promise<void> {
    const { skill, agent = null, correlationId } = dispatch;
    await bus.publish(about(dispatch, `dispatch.dropped.${reason}`, { skill, agent, correlationId, why }));
  }

  /** Publishes the answer for the correlation and, in other words where they are given, for the reply topic. */
  async function answer(
    dispatch: Dispatch,
    result: SkillResult,
    durationMs: number,
    { purpose = 'reply', words }: { purpose?: 'reply' | 'gave-up'; words?: string | undefined } = {},
  ): Promise<void> {
    const { correlationId, message } = dispatch;
    const { unavailable: _, usage, ...told } = result;
    const { origins } = result;
    const payload = { ...told, usage: usage && plain(usage), correlationId, durationMs };
    await bus.publish(
      about(dispatch, `agent.skill.response.${escapeSegment(correlationId)}`, payload, origins),
    );
    if (message.reply === undefined) return;
    const said = words ?? (result.error === undefined ? result.content : `Error: ${result.error}`);
    const draft = about(dispatch, message.reply.topic, { ...payload, content: said }, origins);
    // A stable id, so that the answer is delivered once.
    await bus.publish({ ...draft, id: derivedId(message.id, purpose) });
  }

  /** Publishes what is said to and by an agent; MCP servers do not talk. */
  function chat(
    direction: 'inbound' | 'outbound',
    dispatch: Dispatch,
    { agent, type }: SkillExecutor,
    { content, origins }: Pick<SkillResult, 'content' | 'origins'>,
  ): Announced {
    const topic = chatTopics[direction];
    if (type === 'mcp' || !bus.isHeard(topic)) return undefined;
    const { skill, correlationId, conversationId, message } = dispatch;
    const { userId, channelId } = message.source ?? {};
    const payload = { agent, skill, content, correlationId, conversationId, userId, channelId };
    return bus.publish(about(dispatch, topic, payload, origins));
  }

  function outcome(dispatch: Dispatch, agent: string, result: SkillResult, times: Times): Announced {
    const topic = `autonomous.outcome.${escapeSegment(dispatch.actor)}.${escapeSegment(dispatch.skill)}`;
    const isTimed = result.error === undefined && dispatch.arrivedAt !== undefined;
    return isTimed || bus.isHeard(topic) ? publishOutcome(dispatch, agent, result, times, topic) : undefined;
  }

  async function publishOutcome(
    dispatch: Dispatch,
    agent: string,
    result: SkillResult,
    { startedAt, endedAt }: Times,
    topic: string,
  ): Promise<void> {
    const { skill, arrivedAt, repo } = dispatch;
    const success = result.error === undefined;
    const { taskState, origins } = result;
    const payload = { skill, agent, success, taskState, durationMs: endedAt - startedAt };
    if (bus.isHeard(topic)) await bus.publish(about(dispatch, topic, payload, origins));
    if (!success || arrivedAt === undefined) return;
    await bus.publish(
      about(dispatch, 'agent.skill.latency', {
        skill,
        totalMs: endedAt - arrivedAt,
        queueMs: startedAt - arrivedAt,
        executeMs: endedAt - startedAt,
        ...(repo && {
          repo: {
            owner: repo.owner,
            repo: repo.repo,
            ...(repo.number !== undefined && { number: repo.number }),
          },
        }),
      }),
    );
  }

  /** Nobody waits for frames: a failure is only logged. */
  function frame(dispatch: Dispatch, { origins, ...frame }: SkillFrame): void {
    const topic = `agent.skill.${frameTopics[frame.type] ?? 'toolframe'}.${escapeSegment(dispatch.correlationId)}`;
    const draft = about(dispatch, topic, plain(frame), origins);
    bus.publish(draft).catch((error: unknown) => logger.warn({ err: error }, 'failed to publish frame'));
  }

  return { flow, dropped, answer, chat, outcome, frame };
}

/** All others are about tool calls. */
const frameTopics: Partial<Record<SkillFrame['type'], string>> = {
  progress: 'progress',
  note: 'progress',
  reasoning: 'reasoning',
};

export type Announcer = ReturnType<typeof createAnnouncer>;

/** What follows runs on behalf of whoever asked, never in person: it comes from what an agent said. */
function about(
  { message, correlationId }: Dispatch,
  topic: string,
  payload: unknown,
  origins?: readonly Origin[],
): Draft {
  const principal = withOrigins(onBehalf(message, 'switchboard'), origins);
  return { topic, payload, correlationId, parentId: message.id, principal };
}

/** Drops what JSON cannot carry. */
function plain(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
