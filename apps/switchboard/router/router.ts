import {
  type Bus,
  type Draft,
  escapeSegment,
  type Message,
  matchesTopic,
  type Subscription,
} from '@trunkline/bus';
import { derivedId } from '../core/derived-id.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import { type Decision, decide, type Surroundings, talkOf } from './decide.ts';

/** Topics whose messages the router brings to an agent; what others look after is left to them. */
const routed = ['message.inbound.#', 'cron.#'];
const notRouted = ['message.inbound.onboard.#'];

export function isRouted(topic: string): boolean {
  const isIn = (patterns: string[]) => patterns.some((pattern) => matchesTopic(pattern, topic));
  return isIn(routed) && !isIn(notRouted);
}

/** Makes requests for skills out of what comes in from surfaces and schedules. */
export async function startRouter(bus: Bus, around: Surroundings): Promise<Subscription[]> {
  const handle = (message: Message) => route(message, bus, around);
  const subscribe = (pattern: string, index: number) =>
    bus.subscribe(pattern, handle, { durable: `router-${index}`, group: 'router', plugin: 'router' });
  return await Promise.all(routed.map(subscribe));
}

async function route(message: Message, bus: Bus, around: Surroundings): Promise<void> {
  if (!isRouted(message.topic) || isForRemoteTarget(message)) return;
  const decision = decide(message, around);
  if (decision.skill === undefined) return await refuse(message, bus, decision.why);
  remember(message, decision, around);
  await bus.publish(requestOf(message, decision));
}

/** The scheduler itself delivers to the targets of `a2a.yaml`. */
function isForRemoteTarget({ topic, payload }: Message): boolean {
  return topic.startsWith('cron.') && fieldsOf(payload).channel === 'a2a';
}

/** A request for the skill, with the same id when the message comes again after a restart. */
export function requestOf(message: Message, decision: Decision & { skill: string }): Draft {
  const { skill, agent, rule, why } = decision;
  const routing = { rule, why, topic: message.topic, messageId: message.id };
  const reply = message.reply ?? { topic: decision.replyTopic ?? defaultReplyTopic(message) };
  return {
    topic: 'agent.skill.request',
    id: derivedId(message.id, 'request'),
    correlationId: message.correlationId,
    parentId: message.id,
    payload: {
      ...fieldsOf(message.payload),
      skillHint: skill,
      ...(agent !== undefined && { agent }),
      routing,
    },
    reply,
    source: message.source,
  };
}

async function refuse(message: Message, bus: Bus, why: string): Promise<void> {
  const { correlationId, id: parentId } = message;
  const about = { correlationId, parentId };
  await bus.publish({
    ...about,
    topic: 'dispatch.dropped.no_skill',
    payload: { correlationId, topic: message.topic, why },
  });
  const topic = message.reply?.topic ?? defaultReplyTopic(message);
  const payload = { content: `Error: ${why}`, error: why, correlationId, taskState: 'rejected' };
  await bus.publish({ ...about, id: derivedId(message.id, 'reply'), topic, payload });
}

function remember(
  message: Message,
  { skill, agent }: Decision & { skill: string },
  around: Surroundings,
): void {
  const found = around.registry.resolve(skill, agent);
  if ('executor' in found) {
    around.conversations.remember(talkOf(message, around.workspace.channels()), found.executor.agent);
  }
}

/** Where an answer goes that has no address: back the way the message came, or to the channel of the schedule. */
function defaultReplyTopic({ topic, payload }: Message): string {
  if (!topic.startsWith('cron.')) return topic.replace(/^message\.inbound\b/, 'message.outbound');
  const fields = fieldsOf(payload);
  const channel = text(fields.channel) ?? 'cli';
  if (channel === 'cli') return 'message.outbound.cli';
  if (channel === 'messenger')
    return `message.outbound.messenger.${escapeSegment(text(fields.sender) ?? 'cron')}`;
  return `message.outbound.chat.push.${escapeSegment(channel)}`;
}
