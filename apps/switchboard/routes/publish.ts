import type { Bus, Draft } from '@trunkline/bus';
import { type App, answerText, describeRoute, validate } from '@trunkline/http';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { checkPublish } from '../access/check-publish.ts';
import type { ScheduleOwners } from '../access/schedule-command.ts';
import type { JournalDraft } from '../control/command-draft.ts';
import { busFailure, switchboardErrors } from '../errors.ts';

const publishBody = z.object({
  topic: z.string(),
  payload: z.record(z.string(), z.unknown()),
  id: z.string().optional(),
  correlationId: z.string().optional(),
  parentId: z.string().optional(),
  source: z
    .object({ interface: z.string(), channelId: z.string().optional(), userId: z.string().optional() })
    .optional(),
  reply: z.object({ topic: z.string(), format: z.string().optional() }).optional(),
});

export interface PublishParts {
  owners: ScheduleOwners;
  journalDraft: JournalDraft;
}

/** The way in for programs: one message onto the bus. */
export function mountPublish(app: App<Caller>, bus: Bus, { owners, journalDraft }: PublishParts): void {
  const { publish_forbidden, schedule_forbidden, skill_forbidden, channel_forbidden } = switchboardErrors;
  const { answer_forbidden, reply_topic, message_refused, bus_unavailable } = switchboardErrors;
  const { operator_topic, operator_schedule, guest_schedule } = switchboardErrors;
  const refusals = [
    operator_topic,
    operator_schedule,
    guest_schedule,
    publish_forbidden,
    schedule_forbidden,
    skill_forbidden,
    channel_forbidden,
    answer_forbidden,
    reply_topic,
  ];
  const description = describeRoute({
    summary: 'Publishes a message onto the bus',
    errors: [...refusals, message_refused, bus_unavailable],
  });
  app.post('/publish', description, validate('json', publishBody), async (context) => {
    const caller = context.get('caller');
    const draft = checkPublish(
      caller,
      { ...draftOf(context.req.valid('json'), caller), principal: context.get('principal') },
      owners,
    );
    const published = await bus.publish(journalDraft(draft)).catch((error: unknown) => {
      throw busFailure(error);
    });
    return answerText(context, JSON.stringify({ success: true, ...published }), asJson);
  });
}

const asJson = { 'content-type': 'application/json' };

/** Only an admin may speak for a surface or a user; a scoped key speaks for itself, a guest for users of its own. */
function draftOf(body: z.output<typeof publishBody>, caller: Caller): Draft {
  const own = { interface: 'api', userId: caller.name };
  const guests = body.source && { ...body.source, userId: `${caller.name}:${body.source.userId ?? ''}` };
  const given = caller.guest ? guests : caller.admin ? body.source : undefined;
  const source = given ?? own;
  return withoutUndefined({
    ...body,
    source: withoutUndefined(source),
    reply: body.reply && withoutUndefined(body.reply),
  });
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Defined<T>;
}
