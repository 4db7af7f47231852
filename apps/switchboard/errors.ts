import { BusError } from '@trunkline/bus';
import { defineErrors } from '@trunkline/http';

export const switchboardErrors = defineErrors({
  admin_only: [
    403,
    'This key may not do that: use SWITCHBOARD_API_KEY, or a key with admin: true in keys.yaml.',
  ],
  publish_forbidden: [
    403,
    ({ topic }: { topic: string }) =>
      `This key may not publish to ${topic}. Its patterns stand in keys.yaml under publish.`,
  ],
  schedule_forbidden: [
    403,
    ({ id, name }: { id: string; name: string }) =>
      `This key may not command the schedule ${id}: it is not its own. New ids begin with ${name}, the name of the key in keys.yaml.`,
  ],
  operator_topic: [
    403,
    ({ topic }: { topic: string }) =>
      `Only the operator publishes to ${topic}: send the operator's key (operator-key in TRUNKLINE_HOME) or SWITCHBOARD_API_KEY as "Authorization: Bearer".`,
  ],
  operator_schedule: [
    403,
    ({ id }: { id: string }) =>
      `The schedule ${id} is not yours to change: it was not made without a key. Send the operator's key (operator-key in TRUNKLINE_HOME) or SWITCHBOARD_API_KEY as "Authorization: Bearer".`,
  ],
  guest_schedule: [
    403,
    ({ topic }: { topic: string }) =>
      `Without a key, a schedule leads to agents only: its topic begins with cron., not ${topic}. The operator's key or SWITCHBOARD_API_KEY allows others.`,
  ],
  guest_topic: [
    403,
    ({ topic }: { topic: string }) =>
      `Guests talk to agents, on message.inbound.api; they do not publish to ${topic}. The operator makes a guest a member on the page /trust.`,
  ],
  reply_topic: [
    403,
    ({ topic }: { topic: string }) =>
      `${topic} is written by the switchboard itself; nobody else writes there.`,
  ],
  answer_forbidden: [
    403,
    ({ topic }: { topic: string }) =>
      `reply.topic may not be ${topic}: what an agent answers gives no orders there. Choose a topic such as message.outbound.cli.`,
  ],
  skill_forbidden: [
    403,
    ({ about, name }: { about: string; name: string }) =>
      `This key may not ask for ${about}: it may name the agent ${name}, or have agent.skill.request under publish in keys.yaml.`,
  ],
  channel_forbidden: [
    403,
    ({ channel, pattern }: { channel: string; pattern: string }) =>
      `This key may not send answers to the channel ${channel}: add ${pattern} to its patterns under publish in keys.yaml.`,
  ],
  message_refused: [400, ({ words }: { words: string }) => words],
  quota_exceeded: [429, ({ refusal }: { refusal: string }) => refusal],
  bus_unavailable: [503, ({ words }: { words: string }) => words],
});

/** For the Retry-After header of what cannot be taken now. */
export const retryAfterSeconds = 5;

const callersFault = new Set([
  'topic_refused',
  'pattern_refused',
  'message_refused',
  'message_too_large',
  'name_refused',
]);

/** Throws a refusal of the bus as an HTTP error, and any other error as it is. */
export function throwBusFailure(error: unknown): never {
  if (!(error instanceof BusError)) throw error;
  const { message_refused, bus_unavailable } = switchboardErrors;
  const words = error.message;
  if (callersFault.has(error.code)) throw message_refused({ words }, { cause: error });
  throw bus_unavailable({ words }, { cause: error, headers: { 'retry-after': String(retryAfterSeconds) } });
}
