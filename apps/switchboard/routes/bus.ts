import { type Bus, checkPattern, type Draft, type Message, matchesTopic } from '@trunkline/bus';
import {
  type App,
  answerText,
  describeRoute,
  formatSseFrame,
  type SseSubscriber,
  sse,
  validate,
} from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type Caller, clusterTopics } from '../access/caller.ts';
import { checkPublish, type ScheduleOwners } from '../access/check-publish.ts';
import type { JournalDraft } from '../control/commands.ts';
import { redactMessage } from '../control/redact.ts';
import { withoutUndefined } from '../dispatch/request.ts';
import { switchboardErrors, throwBusFailure } from '../errors.ts';
import { messageFilter, type SwitchboardEnv } from './guards.ts';

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

const asJson = { 'content-type': 'application/json' };

const streamQuery = z.object({ topic: z.string().default('#') });

const historyQuery = z.object({
  topic: z.string().optional(),
  correlationId: z.string().optional(),
  after: z.coerce.number().int().nonnegative().optional(),
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

/** Live feed and history; see `messageFilter`. */
export function mountBus(app: Hono<SwitchboardEnv>, bus: Bus): void {
  const live = describeRoute({
    summary: 'Messages as they come, as server-sent events',
    mediaType: 'text/event-stream',
  });
  app.get('/api/bus/stream', live, validate('query', streamQuery), async (context) => {
    const isSeen = messageFilter(context);
    const { logger } = context.var;
    let reader: SseSubscriber | undefined;
    const { topic } = context.req.valid('query');
    const isShown = shownUnder(topic);
    const show = (message: Message) => {
      if (isShown(message) && isSeen(message)) reader?.send(frameOf(message));
    };
    const subscription = await subscribe(bus, topic, show);
    return sse(context, {
      greeting: 'connected',
      subscribe: (subscriber) => {
        reader = subscriber;
        return () => {
          subscription
            .unsubscribe()
            .catch((error: unknown) => logger.warn({ err: error }, 'failed to unsubscribe'));
        };
      },
    });
  });

  const past = describeRoute({
    summary: 'Journalled messages, oldest first; `earlier` is what to ask for as `before` to go on back',
  });
  app.get('/api/bus/history', past, validate('query', historyQuery), async (context) => {
    const { topic, correlationId, after, before, limit } = context.req.valid('query');
    const query = {
      limit,
      ...(topic && { topic }),
      ...(correlationId && { correlationId }),
      ...(after !== undefined && { after }),
      ...(before !== undefined && { before }),
    };
    const entries = await bus.history(query).catch(throwBusFailure);
    const [isSeen, isShown] = [messageFilter(context), shownUnder(topic ?? '')];
    const messages = entries
      .filter(({ message }) => isShown(message) && isSeen(message))
      .map(({ position, message }) => ({ position, message: redactMessage(message) }));
    // Pages past messages that this caller may not see.
    const earlier = entries.length < limit ? null : (entries[0]?.position ?? null);
    return context.json({ success: true, data: { count: messages.length, messages, earlier } });
  });
}

/** Every switchboard greets the others every other second, and what they tell each other is long: shown when asked for. */
function shownUnder(pattern: string): (message: Message) => boolean {
  return ({ topic }) => pattern.startsWith('cluster.') || !matchesTopic(clusterTopics, topic);
}

async function subscribe(bus: Bus, pattern: string, handler: (message: Message) => void) {
  try {
    checkPattern(pattern);
    return await bus.subscribe(pattern, handler, { plugin: 'live-feed' });
  } catch (error) {
    throwBusFailure(error);
  }
}

/** All readers of a message see the same of it: it is formatted once, and those who lag share its bytes. */
const frames = new WeakMap<Message, Uint8Array>();

function frameOf(message: Message): Uint8Array {
  const known = frames.get(message);
  if (known !== undefined) return known;
  const data = JSON.stringify(redactMessage(message));
  const frame = Buffer.from(formatSseFrame({ id: message.id, event: 'message', data }));
  frames.set(message, frame);
  return frame;
}

interface PublishParts {
  owners: ScheduleOwners;
  journalDraft: JournalDraft;
}

/** Publishes one message. */
export function mountPublish(app: App<Caller>, bus: Bus, parts: PublishParts): void {
  const { owners, journalDraft } = parts;
  const { publish_forbidden, schedule_forbidden, skill_forbidden, channel_forbidden } = switchboardErrors;
  const { answer_forbidden, reply_topic, message_refused, bus_unavailable } = switchboardErrors;
  const { operator_topic, operator_schedule, guest_schedule, guest_topic, quota_exceeded } =
    switchboardErrors;
  const refusals = [
    operator_topic,
    operator_schedule,
    guest_schedule,
    guest_topic,
    publish_forbidden,
    schedule_forbidden,
    skill_forbidden,
    channel_forbidden,
    answer_forbidden,
    reply_topic,
  ];
  const description = describeRoute({
    summary: 'Publishes a message onto the bus',
    errors: [...refusals, quota_exceeded, message_refused, bus_unavailable],
  });
  app.post('/publish', description, validate('json', publishBody), async (context) => {
    const caller = context.get('caller');
    const draft = checkPublish(
      caller,
      { ...draftOf(context.req.valid('json'), caller), principal: context.get('principal') },
      owners,
    );
    const published = await bus.publish(journalDraft(draft)).catch(throwBusFailure);
    return answerText(context, JSON.stringify({ success: true, ...published }), asJson);
  });
}

/** Only an admin may set the source; a scoped key speaks for itself, a guest for users of its own. */
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
