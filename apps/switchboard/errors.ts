import { BusError } from '@trunkline/bus';
import { defineErrors } from '@trunkline/http';

/** Failures of the switchboard's own routes. */
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
  reply_topic: [
    403,
    ({ topic }: { topic: string }) =>
      `${topic} carries answers of the switchboard itself; nobody else writes there.`,
  ],
  message_refused: [400, ({ words }: { words: string }) => words],
  bus_unavailable: [503, ({ words }: { words: string }) => words],
});

const callersFault = new Set([
  'topic_refused',
  'pattern_refused',
  'message_refused',
  'message_too_large',
  'name_refused',
]);

/** A refusal of the bus as the answer that tells it. */
export function busFailure(error: unknown): unknown {
  if (!(error instanceof BusError)) return error;
  const make = callersFault.has(error.code)
    ? switchboardErrors.message_refused
    : switchboardErrors.bus_unavailable;
  return make({ words: error.message }, { cause: error });
}
