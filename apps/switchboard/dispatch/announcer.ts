import { type Bus, type Draft, escapeSegment } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Flow } from '../api-types.ts';
import { derivedId, onBehalf } from '../core/messages.ts';
import type { SkillExecutor, SkillFrame, SkillResult } from './executor.ts';
import type { DropReason } from './registry.ts';
import type { Dispatch } from './request.ts';

export interface Times {
  startedAt: number;
  endedAt: number;
}

/** Everything that the dispatcher publishes. */
export class Announcer {
  readonly #bus: Bus;
  readonly #logger: Logger;

  constructor(bus: Bus, logger: Logger) {
    this.#bus = bus;
    this.#logger = logger;
  }

  async flow(
    event: 'created' | 'updated' | 'completed',
    flow: Flow | undefined,
    dispatch: Dispatch,
  ): Promise<void> {
    if (flow === undefined) return;
    // Who may follow the flows may not read every request.
    const told = { ...flow, requestPreview: undefined };
    await this.#bus.publish(about(dispatch, `flow.item.${event}`, told));
  }

  async dropped(reason: DropReason, why: string, dispatch: Dispatch): Promise<void> {
    const { skill, agent = null, correlationId } = dispatch;
    await this.#bus.publish(
      about(dispatch, `dispatch.dropped.${reason}`, { skill, agent, correlationId, why }),
    );
  }

  /** The answer, for whoever waits for this correlation and for the place that the message named. */
  async answer(
    dispatch: Dispatch,
    result: SkillResult,
    durationMs: number,
    purpose: 'reply' | 'gave-up' = 'reply',
  ): Promise<void> {
    const { correlationId, message } = dispatch;
    const { unavailable: _, usage, ...told } = result;
    const payload = { ...told, usage: usage && plain(usage), correlationId, durationMs };
    await this.#bus.publish(about(dispatch, `agent.skill.response.${escapeSegment(correlationId)}`, payload));
    if (message.reply === undefined) return;
    const said = result.error === undefined ? result.content : `Error: ${result.error}`;
    const draft = about(dispatch, message.reply.topic, { ...payload, content: said });
    // The same id after a restart, so that the answer is not delivered twice.
    await this.#bus.publish({ ...draft, id: derivedId(message.id, purpose) });
  }

  /** What is said to an agent and by it; tools of MCP servers do not talk. */
  async chat(
    direction: 'inbound' | 'outbound',
    dispatch: Dispatch,
    { agent, type }: SkillExecutor,
    content: string,
  ): Promise<void> {
    if (type === 'mcp') return;
    const { skill, correlationId, conversationId, message } = dispatch;
    const { userId, channelId } = message.source ?? {};
    const payload = { agent, skill, content, correlationId, conversationId, userId, channelId };
    await this.#bus.publish(about(dispatch, `agent.chat.${direction}`, payload));
  }

  async outcome(
    dispatch: Dispatch,
    agent: string,
    result: SkillResult,
    { startedAt, endedAt }: Times,
  ): Promise<void> {
    const { skill, actor, arrivedAt, repo } = dispatch;
    const success = result.error === undefined;
    const topic = `autonomous.outcome.${escapeSegment(actor)}.${escapeSegment(skill)}`;
    const { taskState } = result;
    await this.#bus.publish(
      about(dispatch, topic, { skill, agent, success, taskState, durationMs: endedAt - startedAt }),
    );
    if (!success || arrivedAt === undefined) return;
    await this.#bus.publish(
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

  /** Frames are for onlookers: nobody waits for them, and a failure is only logged. */
  frame(dispatch: Dispatch, frame: SkillFrame): void {
    const kind = frame.type === 'progress' ? 'progress' : 'toolframe';
    const topic = `agent.skill.${kind}.${escapeSegment(dispatch.correlationId)}`;
    const draft = about(dispatch, topic, plain(frame));
    this.#bus
      .publish(draft)
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'failed to publish frame'));
  }
}

/** What follows is done for whoever asked, by what an agent said: never in person. */
function about({ message, correlationId }: Dispatch, topic: string, payload: unknown): Draft {
  const principal = onBehalf(message, 'switchboard');
  return { topic, payload, correlationId, parentId: message.id, principal };
}

/** As JSON carries it, whatever a model or a tool put in. */
function plain(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
