import { matchesTopic, TopicIndex } from '@trunkline/bus';
import { ownerKey, type Principal } from '@trunkline/identity';

/** What switchboards on one bus tell each other. */
export const clusterTopics = 'cluster.#';

/**
 * Only the switchboard writes these. Whoever else could write queue entries or answers could forge what an agent was
 * asked, what a person was asked, or what either said; the `config` topics change every workspace on the bus and carry
 * seal keys.
 */
const ownTopics = [
  'agent.skill.cancel',
  'agent.skill.progress.#',
  'agent.skill.queue.#',
  'agent.skill.reasoning.#',
  'agent.skill.response.#',
  'agent.skill.toolframe.#',
  'agent.input.request.#',
  'agent.input.response.#',
  'agent.input.given',
  clusterTopics,
  'config.files',
  'config.sealed.#',
  'schedule.fires',
];

/**
 * Text of a model never goes here, whatever a file lists: these topics carry commands, or pass for a person, an agent
 * or a schedule.
 */
/** Every message from outside is compared with them. */
const own = new TopicIndex<string>();
for (const pattern of ownTopics) own.add(pattern, pattern);

const guardedTopics = ['command.#', 'message.inbound.#', 'cron.#', ...ownTopics];

/**
 * A guest may not publish commands, documents that agents trust, what spends the operator's accounts, or what diverts
 * requests or passes for the result of a ceremony.
 */
const operatorTopics = [
  'command.#',
  'knowledge.document',
  'message.inbound.onboard',
  'skill.ab_test.#',
  'ceremony.#',
];

export interface Caller {
  name: string;
  /** May do everything but write the switchboard's own topics. */
  admin: boolean;
  /** Topic patterns that the key may publish to. */
  publish: readonly string[];
  /** Topic patterns that the key may read. */
  subscribe: readonly string[];
  /** Has no key: may ask agents, publish messages, read, and own schedules that lead to agents. */
  guest?: true;
}

export const operator: Caller = { name: 'operator', admin: true, publish: ['#'], subscribe: ['#'] };

/** A caller without a key, or for whom another of our services asks. */
export const guest: Caller = {
  name: 'anonymous',
  admin: false,
  guest: true,
  publish: ['#'],
  subscribe: ['#'],
};

/** Everybody known has a name of their own, with a colon, which names of keys do not have. */
export function guestFor(principal: Principal): Caller {
  const { kind, id } = principal;
  if (kind === 'anonymous') return guest;
  return { ...guest, name: kind === 'schedule' ? ownerKey(principal) : `${kind}:${id}` };
}

function isGuestName(name: string): boolean {
  return name === guest.name || name.includes(':');
}

/** Whether schedules of this owner are those of somebody with that name. What nobody owns belongs to all without a key. */
export function ownsSchedule(name: string, owner: string | null | undefined): boolean {
  return owner === name || (owner === guest.name && isGuestName(name));
}

/** Without a key one sees the operator's schedules as well. */
export function seesSchedule(name: string, owner: string | null | undefined): boolean {
  return ownsSchedule(name, owner) || (owner === null && isGuestName(name));
}

/** A key of keys.yaml, as the list of people shows it. */
export function listedCaller({ name, admin }: Caller) {
  return { identity: `key:${name}`, name, role: admin ? 'operator' : 'member' } as const;
}

export function maySee(caller: Caller, topic: string): boolean {
  return matchesAny(caller.subscribe, topic);
}

export function mayPublish(caller: Caller, topic: string): boolean {
  return matchesAny(caller.publish, topic);
}

export function isOwnTopic(topic: string): boolean {
  return own.match(topic).length > 0;
}

/** Schedule commands have rules of their own. */
export function isOperatorTopic(topic: string): boolean {
  return topic !== 'command.schedule' && matchesAny(operatorTopics, topic);
}

export function isGuardedTopic(topic: string): boolean {
  return matchesAny(guardedTopics, topic);
}

/** The guarded topics that a pattern reaches into; undefined when there are none. */
export function guardedPart(pattern: string): string | undefined {
  return guardedTopics.find((guarded) => overlaps(pattern, guarded));
}

export function matchesAny(patterns: readonly string[], topic: string): boolean {
  return patterns.some((pattern) => matchesTopic(pattern, topic));
}

/** Whether a topic exists that both patterns match. */
function overlaps(one: string, other: string): boolean {
  const [left, right] = [one.split('.'), other.split('.')];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [here, there] = [left[index], right[index]];
    if (here === '#' || there === '#') return true;
    if (here === undefined || there === undefined) return false;
    if (here !== '*' && there !== '*' && here !== there) return false;
  }
  return true;
}
