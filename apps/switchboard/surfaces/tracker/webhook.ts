import { type Draft, escapeSegment } from '@trunkline/bus';
import { defineErrors, parseJson } from '@trunkline/http';
import { z } from 'zod';
import { derivedId } from '../../core/messages.ts';
import type { Webhook } from '../webhooks.ts';

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

/** The fields of a webhook that are read. */
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

export const { tracker_old } = defineErrors({
  tracker_old: [
    400,
    'This webhook is more than 5 minutes old, or from the future; check the clock of this machine.',
  ],
});

const oldestMs = 5 * 60_000;

export function parseTrackerHook({ body, arrivedAt }: Webhook): TrackerHook {
  const hook = trackerHookSchema.parse(parseJson(new TextDecoder().decode(body)));
  if (Math.abs(arrivedAt - hook.webhookTimestamp) > oldestMs) throw tracker_old();
  return hook;
}

export type TrackerHook = z.output<typeof trackerHookSchema>;

/** The message for agents, if any. */
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
