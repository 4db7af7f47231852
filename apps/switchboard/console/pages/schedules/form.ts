// The form by which a schedule is added or changed, and what it means to the service.
import type { JsonSchema } from '@trunkline/ui';
import type { ScheduleView } from '../../../api-types.ts';

type Values = Readonly<Record<string, unknown>>;

const FIELDS: Record<string, JsonSchema> = {
  schedule: {
    type: 'string',
    title: 'When',
    description: 'Five cron fields such as 0 9 * * 1-5, @daily, or one time such as 2027-01-31T09:00:00.',
  },
  timezone: {
    type: 'string',
    title: 'Time zone',
    description: 'Such as Europe/Berlin; that of the machine when left empty.',
  },
  content: { type: 'string', title: 'What the agent reads', maxLength: 20_000 },
  topic: { type: 'string', title: 'Topic', description: 'cron. and the name when left empty.' },
  skillHint: { type: 'string', title: 'Skill', description: 'The router decides when left empty.' },
  channel: {
    type: 'string',
    title: 'Where the answer goes',
    description: 'cli, messenger, the id of a chat channel, or a2a.',
  },
  overlap: {
    title: 'When its last run still goes on',
    default: 'skip',
    oneOf: [
      { const: 'skip', title: 'Leave it out' },
      { const: 'queue', title: 'Wait for it' },
      { const: 'allow', title: 'Run both' },
    ],
  },
};

const ID: JsonSchema = {
  type: 'string',
  title: 'Name',
  pattern: '^[a-z0-9][a-z0-9.-]*$',
  description: 'Small letters, digits, - and dots.',
};

export const NEW_FORM: JsonSchema = {
  type: 'object',
  required: ['id', 'schedule', 'content'],
  properties: { id: ID, ...FIELDS },
};

export const EDIT_FORM: JsonSchema = {
  type: 'object',
  required: ['schedule', 'content'],
  properties: FIELDS,
};

/** What stands in the form for a schedule that is there. */
export function valuesOf({ schedule, timezone, topic, overlap, payload }: ScheduleView): Values {
  const { content, skillHint, channel } = payload;
  return { schedule, timezone, content, topic, skillHint, channel, overlap };
}

/** The record that the service keeps; fields that the form does not show stay as they were. */
export function recordOf(id: string, values: Values, before?: ScheduleView): Record<string, unknown> {
  const { schedule, timezone, topic, overlap, content, skillHint, channel } = values;
  const payload = {
    ...before?.payload,
    content,
    channel: channel ?? 'cli',
    skillHint,
  };
  return {
    id,
    schedule,
    timezone,
    topic: topic ?? `cron.${id}`,
    overlap,
    payload,
    ...(before && { jitterMs: before.jitterMs, enabled: before.state === 'active' }),
  };
}
