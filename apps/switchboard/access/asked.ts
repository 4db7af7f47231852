import { type Draft, escapeSegment, matchesTopic } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import { switchboardErrors } from '../errors.ts';
import { channelTopic } from '../router/reply-topic.ts';
import type { Caller } from './caller.ts';
import { matchesAny } from './topics.ts';

/** Whoever may publish here may ask any agent for any skill. */
const requestTopic = 'agent.skill.request';

/**
 * Throws unless a scoped key may ask for what a message to the router asks for: the agent and skill that it names, and the
 * channel in which the answer goes out. Without these the router decides, as the operator set it up.
 */
export function checkAsked(caller: Caller, { topic, payload }: Pick<Draft, 'topic' | 'payload'>): void {
  const isScheduled = matchesTopic('cron.#', topic);
  if (!isScheduled && !matchesTopic('message.inbound.#', topic)) return;
  checkSkill(caller, payload);
  if (isScheduled) checkChannel(caller, payload);
}

/** A key that names a conversation has that of its own by this name: what others said there is not for it. */
export function ownConversation({ name }: Caller, payload: unknown): unknown {
  const id = text(fieldsOf(payload).conversationId);
  const prefix = `key:${name}:`;
  if (id === undefined || id.startsWith(prefix)) return payload;
  return { ...fieldsOf(payload), conversationId: `${prefix}${id}` };
}

/** Its own agent a key may ask for anything; another one, or a skill of whoever has it, needs the right to ask all. */
function checkSkill({ name, publish }: Caller, payload: unknown): void {
  const { skillHint, skill, agent, targets } = fieldsOf(payload);
  const agents = [agent, ...(Array.isArray(targets) ? targets : [])].filter((one) => one !== undefined);
  const skills = [skillHint, skill].filter((one) => one !== undefined);
  if (agents.length === 0 && skills.length === 0) return;
  const isOwn = agents.length > 0 && agents.every((one) => one === name);
  if (isOwn || matchesAny(publish, requestTopic)) return;
  const about = [
    ...skills.map((one) => `the skill ${String(one)}`),
    ...agents.map((one) => `the agent ${String(one)}`),
  ];
  throw switchboardErrors.skill_forbidden({ about: about.join(' of '), name });
}

function checkChannel(caller: Caller, payload: unknown): void {
  const { channel, agent_name } = fieldsOf(payload);
  if (channel === undefined || channel === 'cli') return;
  if (channel === 'a2a') {
    checkTarget(caller, agent_name);
    return;
  }
  const topic = channelTopic(payload);
  if (!matchesAny(caller.publish, topic))
    throw switchboardErrors.channel_forbidden({ channel: String(channel), pattern: topic });
}

/** A target of `a2a.yaml` is called with the credentials of the switchboard: a key has itself, and those whose jobs it may publish. */
function checkTarget({ name, publish }: Caller, target: unknown): void {
  const jobs = ['cron', escapeSegment(text(target) ?? '')].join('.');
  if (target === name || (text(target) !== undefined && matchesAny(publish, `${jobs}.job`))) return;
  throw switchboardErrors.channel_forbidden({ channel: `a2a to ${String(target)}`, pattern: `${jobs}.#` });
}
