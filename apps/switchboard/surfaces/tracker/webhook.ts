import { type Draft, escapeSegment } from '@trunkline/bus';
import { defineErrors, describeRoute, parseJson } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { derivedId } from '../../core/messages.ts';
import { busFailure } from '../../errors.ts';
import type { SwitchboardEnv } from '../../routes/guards.ts';
import { isSignedBy } from '../webhooks.ts';

const text = z.string().nullish();

const person = z.object({ id: z.string().optional(), name: text, email: text }).nullish();

const issue = z.object({
  id: z.string().min(1),
  identifier: text,
  title: text,
  description: text,
  url: text,
  teamId: text,
  team: z.object({ id: z.string(), key: text }).nullish(),
});

const session = z.object({
  id: z.string().min(1),
  issue: issue.partial({ id: true }).nullish(),
  comment: z.object({ body: text }).nullish(),
  creator: person,
});

/** What is read of a webhook's body. */
const trackerHookSchema = z.object({
  type: z.string().min(1),
  action: z.string().min(1),
  webhookTimestamp: z.number(),
  data: z.looseObject({}).optional(),
  agentSession: session.optional(),
  agentActivity: z.object({ content: z.object({ body: text }).nullish(), body: text }).nullish(),
  promptContext: text,
  actor: person,
});

const errors = defineErrors({
  tracker_signature: [
    401,
    'The signature does not fit: TRACKER_WEBHOOK_SECRET must be the signing secret of the webhook.',
  ],
  tracker_unsigned: [
    401,
    'Webhooks are refused while TRACKER_WEBHOOK_SECRET is unset; set it, or SWITCHBOARD_ALLOW_UNSIGNED=1 where nobody else reaches this port.',
  ],
  tracker_hook: [400, ({ words }: { words: string }) => `This is no webhook of the tracker: ${words}`],
  tracker_old: [
    400,
    'This webhook is more than 5 minutes old, or from the future; check the clock of this machine.',
  ],
});

export interface TrackerWebhook {
  secret: string | undefined;
  allowUnsigned: boolean;
  /** Accepts what was sent, unless it was accepted before: by its bytes, or by the id that a header names. */
  take(hook: TrackerHook, delivery: Delivery, arrivedAt: number): Promise<void>;
}

interface Delivery {
  body: Uint8Array;
  named: string | undefined;
}

export const trackerHookLimit = 1024 * 1024;
const oldestMs = 5 * 60_000;

export function mountTrackerWebhook(app: Hono<SwitchboardEnv>, webhook: TrackerWebhook): void {
  const about = describeRoute({ summary: 'Webhooks of the tracker', errors: Object.values(errors) });
  for (const path of ['/webhooks/tracker', '/webhooks/linear'])
    app.post(path, about, (context) => receive(context, webhook));
}

async function receive(context: Context, { secret, allowUnsigned, take }: TrackerWebhook): Promise<Response> {
  const arrivedAt = Date.now();
  const body = new Uint8Array(await context.req.arrayBuffer());
  if (secret === undefined && !allowUnsigned) throw errors.tracker_unsigned();
  if (secret !== undefined && !isSignedBy(secret, body, context.req.header('linear-signature')))
    throw errors.tracker_signature();
  const hook = read(body);
  if (Math.abs(arrivedAt - hook.webhookTimestamp) > oldestMs) throw errors.tracker_old();
  const delivery = { body, named: context.req.header('linear-delivery') };
  await take(hook, delivery, arrivedAt).catch((error: unknown) => {
    throw busFailure(error);
  });
  return context.text('OK');
}

function read(body: Uint8Array): TrackerHook {
  const parsed = trackerHookSchema.safeParse(parse(body));
  if (parsed.success) return parsed.data;
  throw errors.tracker_hook({ words: z.prettifyError(parsed.error) });
}

function parse(body: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(body));
  } catch (error) {
    throw errors.tracker_hook({ words: 'it is no JSON' }, { cause: error });
  }
}

export type TrackerHook = z.output<typeof trackerHookSchema>;

/** What a webhook means for agents: a message, or nothing. */
export function readTrackerHook(hook: TrackerHook, deliveryId: string, arrivedAt: number): Draft | undefined {
  const draft = ofSession(hook) ?? ofIssue(hook);
  if (draft === undefined) return undefined;
  const payload = { ...(draft.payload as object), arrivedAt, systemActor: 'tracker' };
  return { ...draft, payload: JSON.parse(JSON.stringify(payload)), id: derivedId(deliveryId, draft.topic) };
}

function ofSession({
  type,
  action,
  agentSession,
  agentActivity,
  promptContext,
}: TrackerHook): Draft | undefined {
  if (type !== 'AgentSessionEvent' || agentSession === undefined) return undefined;
  const { id, issue: about, comment, creator } = agentSession;
  const said = agentActivity?.content?.body ?? agentActivity?.body ?? comment?.body ?? promptContext;
  const content = said ?? [about?.title, about?.description].filter(Boolean).join('\n\n');
  return {
    topic: `message.inbound.tracker.agent_session.${escapeSegment(action)}`,
    payload: {
      content: content || 'You were assigned.',
      sessionId: id,
      issue: about,
      context: promptContext,
    },
    source: sourceOf(about, creator?.id),
    reply: { topic: `tracker.agent_activity.${escapeSegment(id)}`, format: 'markdown' },
  };
}

function ofIssue({ type, action, data, actor }: TrackerHook): Draft | undefined {
  const found = issue.safeParse(data);
  if (type !== 'Issue' || action !== 'create' || !found.success) return undefined;
  const { id, identifier, title, description } = found.data;
  const content = `Issue ${identifier ?? id}: ${title ?? ''}\n\n${description ?? ''}`.trim();
  return {
    topic: 'message.inbound.tracker.issue.created',
    payload: { content, issue: found.data },
    source: sourceOf(found.data, actor?.id),
    reply: { topic: `tracker.reply.${escapeSegment(id)}`, format: 'markdown' },
  };
}

/** The team is the channel. */
function sourceOf(
  about: Pick<z.output<typeof issue>, 'team' | 'teamId'> | null | undefined,
  userId: string | undefined,
) {
  const channelId = about?.team?.key ?? about?.team?.id ?? about?.teamId;
  return { interface: 'tracker', ...(channelId && { channelId }), ...(userId && { userId }) };
}
