import { type Draft, matchesTopic } from '@trunkline/bus';
import { switchboardErrors } from '../errors.ts';

/** Who is calling, and what the key allows. */
export interface Caller {
  name: string;
  /** May do everything that is not limited to the switchboard itself. */
  admin: boolean;
  /** Patterns of topics that the key may write to. */
  publish: readonly string[];
  /** Patterns of topics that the key may read. */
  subscribe: readonly string[];
}

export const operator: Caller = { name: 'operator', admin: true, publish: ['#'], subscribe: ['#'] };

/** Answers that only the switchboard gives: whoever could write them could forge what an agent or a person said. */
const replyTopics = ['agent.skill.response.#', 'agent.input.response.#', 'agent.input.given'];

/** Throws unless the caller may send this message, its address for answers included. */
export function checkPublish(caller: Caller, { topic, payload, reply }: Draft): void {
  if (isReplyTopic(topic)) throw switchboardErrors.reply_topic({ topic });
  const wanted = reply === undefined ? [topic] : [topic, reply.topic];
  const refused = wanted.find((name) => !caller.publish.some((pattern) => matchesTopic(pattern, name)));
  if (refused !== undefined) throw switchboardErrors.publish_forbidden({ topic: refused });
  if (!caller.admin && topic === 'command.schedule' && !isOwnSchedule(caller, payload)) {
    throw switchboardErrors.publish_forbidden({ topic: `${topic} for a schedule that is not its own` });
  }
}

export function maySee(caller: Caller, topic: string): boolean {
  return caller.subscribe.some((pattern) => matchesTopic(pattern, topic));
}

function isReplyTopic(topic: string): boolean {
  return replyTopics.some((pattern) => matchesTopic(pattern, topic));
}

/** A scoped key commands only schedules that bear its name, and they may fire only where it may publish. */
function isOwnSchedule({ name, publish }: Caller, payload: unknown): boolean {
  const { action, id, topic } = Object(payload) as Record<string, unknown>;
  if (action === 'list') return true;
  const isOwnId = typeof id === 'string' && (id.startsWith(`${name}-`) || id.startsWith(`${name}.`));
  const isOwnTopic =
    topic === undefined ||
    (typeof topic === 'string' && publish.some((pattern) => matchesTopic(pattern, topic)));
  return isOwnId && isOwnTopic;
}
