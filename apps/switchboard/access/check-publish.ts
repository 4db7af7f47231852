import { type Draft, escapeSegment, matchesTopic } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import { switchboardErrors } from '../errors.ts';
import { channelTopic } from '../router/router.ts';
import {
  type Caller,
  isGuardedTopic,
  isOperatorTopic,
  isOwnTopic,
  matchesAny,
  mayPublish,
} from './caller.ts';

/** Whoever may publish here may ask any agent for any skill. */
const requestTopic = 'agent.skill.request';

/**
 * Throws unless the caller may send this message: its address for answers, and what it asks for, included.
 * Gives the message as it goes on the bus: a scoped key commands the schedules that it owns and talks in conversations of its own.
 */
export function checkPublish(caller: Caller, draft: Draft, owners: ScheduleOwners): Draft {
  const { topic, reply } = draft;
  if (isOwnTopic(topic)) throw switchboardErrors.reply_topic({ topic });
  checkReplyTopic(reply?.topic);
  if (caller.admin) return draft;
  if (caller.guest && isOperatorTopic(topic)) throw switchboardErrors.operator_topic({ topic });
  const wanted = reply === undefined ? [topic] : [topic, reply.topic];
  const refused = wanted.find((name) => !mayPublish(caller, name));
  if (refused !== undefined) throw switchboardErrors.publish_forbidden({ topic: refused });
  if (topic === 'command.schedule')
    return { ...draft, payload: scheduleCommand(caller, draft.payload, owners) };
  if (!caller.guest) checkAsked(caller, draft);
  return { ...draft, payload: ownConversation(caller, draft.payload) };
}

/** The answer of an agent is the text of a model: it gives no orders and passes for nobody else's words. */
function checkReplyTopic(topic: string | undefined): void {
  if (topic !== undefined && isGuardedTopic(topic)) throw switchboardErrors.answer_forbidden({ topic });
}

/** Whose a schedule is: null for one that is nobody's but the operator's, undefined when there is no such schedule. */
export interface ScheduleOwners {
  ownerOf(id: string): string | null | undefined;
}

/**
 * A command of a scoped key, bound to the schedules that it owns; throws when it is about others, or would have one do
 * what the key itself may not. The scheduler looks at the owner once more when it carries the command out.
 */
function scheduleCommand(caller: Caller, payload: unknown, owners: ScheduleOwners): object {
  const fields = fieldsOf(payload);
  const bound = { ...fields, onlyOwner: caller.name };
  if (fields.action === 'list') return caller.guest ? fields : bound;
  const isUnnamedPreview = fields.action === 'preview' && fields.id === undefined;
  if (!isUnnamedPreview && !isOwn(caller, fields, owners)) throw foreign(caller, String(fields.id));
  if (fields.action !== 'add') return bound;
  checkScheduled(caller, fields);
  return { ...bound, owner: caller.name, payload: ownConversation(caller, fields.payload) };
}

/** A guest reads what there is, and changes only what guests made. */
export function seesSchedule(caller: Caller, owner: string | null | undefined): boolean {
  return caller.guest === true || ownsSchedule(caller, owner);
}

function ownsSchedule({ admin, name }: Caller, owner: string | null | undefined): boolean {
  return admin || owner === name;
}

/** A schedule that is there belongs to its owner; a new one gets an id that begins with the name of the key. */
function isOwn(
  caller: Caller,
  { id, owner: given }: Record<string, unknown>,
  owners: ScheduleOwners,
): boolean {
  const name = text(id);
  if (caller.guest && name === undefined) return true;
  if (name === undefined || (given !== undefined && given !== caller.name)) return false;
  const owner = owners.ownerOf(name);
  if (owner !== undefined) return ownsSchedule(caller, owner);
  if (caller.guest) return true;
  return name === caller.name || name.startsWith(`${caller.name}-`) || name.startsWith(`${caller.name}.`);
}

/** What fires later is checked as if the key published it now; orders to the switchboard are never scheduled with a scoped key. */
function checkScheduled(caller: Caller, { topic, payload }: Record<string, unknown>): void {
  const name = text(topic);
  if (name === undefined) return;
  const isOrder = matchesTopic('command.#', name) || isOwnTopic(name);
  if (caller.guest) {
    if (!matchesTopic('cron.#', name)) throw switchboardErrors.guest_schedule({ topic: name });
    return;
  }
  if (isOrder || !mayPublish(caller, name)) throw switchboardErrors.publish_forbidden({ topic: name });
  checkAsked(caller, { topic: name, payload });
}

function foreign({ guest, name }: Caller, id: string) {
  return guest
    ? switchboardErrors.operator_schedule({ id })
    : switchboardErrors.schedule_forbidden({ id, name });
}

/**
 * Throws unless a scoped key may ask for what a message to the router asks for: the agent and skill that it names, and the
 * channel in which the answer goes out. Without these the router decides, as the operator set it up.
 */
function checkAsked(caller: Caller, { topic, payload }: Pick<Draft, 'topic' | 'payload'>): void {
  const isScheduled = matchesTopic('cron.#', topic);
  if (!isScheduled && !matchesTopic('message.inbound.#', topic)) return;
  checkSkill(caller, payload);
  if (isScheduled) checkChannel(caller, payload);
}

/** A key that names a conversation has that of its own by this name: what others said there is not for it. */
function ownConversation({ name }: Caller, payload: unknown): unknown {
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
