import { matchesTopic } from '@trunkline/bus';

/**
 * What only the switchboard writes. Requests in the queues of agents, and answers: whoever could write them could forge
 * what an agent was asked, or what it or a person said. And what
 * switchboards on one bus tell each other: it changes the workspace of all of them, and brings the keys of sealed commands.
 */
const ownTopics = [
  'agent.skill.queue.#',
  'agent.skill.response.#',
  'agent.input.response.#',
  'agent.input.given',
  'config.files',
  'config.sealed.#',
  'schedule.fires',
];

/**
 * Where no text of a model may ever go, whatever a file lists: orders to the switchboard, and what passes for the words
 * of a person, an agent or a schedule.
 */
const guardedTopics = ['command.#', 'message.inbound.#', 'cron.#', ...ownTopics];

/**
 * What a guest may not publish: orders, documents that agents take for true, what spends the operator's accounts, and
 * what diverts requests or passes for the result of a ceremony.
 */
const operatorTopics = [
  'command.#',
  'knowledge.document',
  'message.inbound.onboard',
  'skill.ab_test.#',
  'ceremony.#',
];

/** Who is calling, and what the key allows. */
export interface Caller {
  name: string;
  /** May do everything that is not limited to the switchboard itself. */
  admin: boolean;
  /** Patterns of topics that the key may write to. */
  publish: readonly string[];
  /** Patterns of topics that the key may read. */
  subscribe: readonly string[];
  /** Has no key: may ask agents, publish messages and read, and has schedules that lead to agents; nothing else. */
  guest?: true;
}

export const operator: Caller = { name: 'operator', admin: true, publish: ['#'], subscribe: ['#'] };

/** Whoever is let in without a key, and whoever another of our services asks for. */
export const guest: Caller = {
  name: 'anonymous',
  admin: false,
  guest: true,
  publish: ['#'],
  subscribe: ['#'],
};

export function maySee(caller: Caller, topic: string): boolean {
  return matchesAny(caller.subscribe, topic);
}

export function mayPublish(caller: Caller, topic: string): boolean {
  return matchesAny(caller.publish, topic);
}

export function isOwnTopic(topic: string): boolean {
  return matchesAny(ownTopics, topic);
}

/** Orders about schedules have rules of their own. */
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
