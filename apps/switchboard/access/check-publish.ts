import { type Draft, escapeSegment, matchesTopic } from '@trunkline/bus';
import { anonymous, roleOf } from '@trunkline/identity';
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
  ownsSchedule,
  seesSchedule,
} from './caller.ts';

/** All that guests may publish: words to agents, with a way back that no surface carries. */
const guestTopics = { topic: 'message.inbound.api.#', reply: 'message.outbound.api.#' };
const guestFields = ['content', 'agent', 'targets', 'skill', 'skillHint', 'conversationId', 'stream'];

/** A key that may publish here may ask any agent for any skill. */
const requestTopic = 'agent.skill.request';

/**
 * Throws unless the caller may send this message, reply topic and requested skill included. Returns the message as it
 * goes on the bus: a scoped key commands only its own schedules and talks in conversations of its own.
 */
export function checkPublish(caller: Caller, sent: Draft, owners: ScheduleOwners): Draft {
  const { topic, reply } = sent;
  if (isOwnTopic(topic)) throw switchboardErrors.reply_topic({ topic });
  checkReplyTopic(reply?.topic);
  if (caller.admin) return sent;
  if (caller.guest && isOperatorTopic(topic)) throw switchboardErrors.operator_topic({ topic });
  const draft = roleOf(sent.principal ?? anonymous) === 'guest' ? guestsDraft(caller, sent) : sent;
  const wanted = reply === undefined ? [topic] : [topic, reply.topic];
  const refused = wanted.find((name) => !mayPublish(caller, name));
  if (refused !== undefined) throw switchboardErrors.publish_forbidden({ topic: refused });
  if (topic === 'command.schedule')
    return { ...draft, payload: scheduleCommand(caller, draft.payload, owners) };
  if (!caller.guest) checkAsked(caller, draft);
  return { ...draft, payload: ownConversation(caller, draft.payload) };
}

/**
 * What a guest says goes on as theirs, without what only the router or a surface may say of a message. In a service
 * without a key, whoever has no key counts as a member.
 */
function guestsDraft({ name }: Caller, draft: Draft): Draft {
  const { topic, reply, payload } = draft;
  if (!matchesTopic(guestTopics.topic, topic)) throw switchboardErrors.guest_topic({ topic });
  if (reply !== undefined && !matchesTopic(guestTopics.reply, reply.topic))
    throw switchboardErrors.guest_topic({ topic: reply.topic });
  const fields = Object.entries(fieldsOf(payload)).filter(([field]) => guestFields.includes(field));
  return { ...draft, payload: Object.fromEntries(fields), source: { interface: 'api', userId: name } };
}

/** An agent's answer is model text: it may not act as a command or pass for somebody else's words. */
function checkReplyTopic(topic: string | undefined): void {
  if (topic !== undefined && isGuardedTopic(topic)) throw switchboardErrors.answer_forbidden({ topic });
}

/** The owner of a schedule: null when only the operator owns it, undefined when there is no such schedule. */
export interface ScheduleOwners {
  ownerOf(id: string): string | null | undefined;
}

/**
 * Binds the command to the key's own schedules. Throws when it concerns others, or would do what the key may not. The
 * scheduler checks the owner again when it runs the command.
 */
function scheduleCommand(caller: Caller, payload: unknown, owners: ScheduleOwners): object {
  const fields = fieldsOf(payload);
  const bound = { ...fields, onlyOwner: caller.name };
  if (fields.action === 'list') return bound;
  const isUnnamedPreview = fields.action === 'preview' && fields.id === undefined;
  // The scheduler answers as for a schedule that does not exist.
  if (fields.action !== 'add' && isHidden(caller, text(fields.id), owners)) return bound;
  if (!isUnnamedPreview && !isOwn(caller, fields, owners)) throw foreign(caller, String(fields.id));
  if (fields.action !== 'add') return bound;
  checkScheduled(caller, fields);
  return { ...bound, owner: caller.name, payload: ownConversation(caller, ownRun(caller, fields.payload)) };
}

/**
 * The agent signs for whom its schedules run. Keys can add none under the agent's ids; whoever comes without a key can, once
 * the agent's own was removed here, so what they add runs for nobody but them.
 */
function ownRun({ guest }: Caller, payload: unknown): unknown {
  const { on_behalf_of, ...rest } = fieldsOf(payload);
  return guest && on_behalf_of !== undefined ? rest : payload;
}

function isHidden(caller: Caller, id: string | undefined, owners: ScheduleOwners): boolean {
  const owner = id === undefined || !caller.guest ? undefined : owners.ownerOf(id);
  return owner !== undefined && !seesSchedule(caller.name, owner);
}

/** An existing schedule belongs to its owner; the id of a new one begins with the name of the key. */
function isOwn(
  caller: Caller,
  { id, owner: given }: Record<string, unknown>,
  owners: ScheduleOwners,
): boolean {
  const name = text(id);
  if (caller.guest && name === undefined) return true;
  if (name === undefined || (given !== undefined && given !== caller.name)) return false;
  const owner = owners.ownerOf(name);
  if (owner !== undefined) return ownsSchedule(caller.name, owner);
  if (caller.guest) return true;
  return name === caller.name || name.startsWith(`${caller.name}-`) || name.startsWith(`${caller.name}.`);
}

/** Checks a scheduled message as if the key published it now; a scoped key never schedules commands. */
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
 * Throws unless a scoped key may ask for the agent and skill that the message names, and may write to the channel of
 * its answer. Without these the router decides.
 */
function checkAsked(caller: Caller, { topic, payload }: Pick<Draft, 'topic' | 'payload'>): void {
  const isScheduled = matchesTopic('cron.#', topic);
  if (!isScheduled && !matchesTopic('message.inbound.#', topic)) return;
  checkSkill(caller, payload);
  if (isScheduled) checkChannel(caller, payload);
}

/** Prefixes the conversation with the key's name, so that a key never reads what others said. */
function ownConversation({ name }: Caller, payload: unknown): unknown {
  const id = text(fieldsOf(payload).conversationId);
  const prefix = `key:${name}:`;
  if (id === undefined || id.startsWith(prefix)) return payload;
  return { ...fieldsOf(payload), conversationId: `${prefix}${id}` };
}

/** A key may ask its own agent for anything; other agents and skills need the right to ask any. */
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

/**
 * Targets of `a2a.yaml` are called with the switchboard's credentials: a key may use its own name, and targets whose
 * jobs it may publish.
 */
function checkTarget({ name, publish }: Caller, target: unknown): void {
  const jobs = ['cron', escapeSegment(text(target) ?? '')].join('.');
  if (target === name || (text(target) !== undefined && matchesAny(publish, `${jobs}.job`))) return;
  throw switchboardErrors.channel_forbidden({ channel: `a2a to ${String(target)}`, pattern: `${jobs}.#` });
}
