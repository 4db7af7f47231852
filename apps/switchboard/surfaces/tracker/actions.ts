import { unescapeSegment } from '@trunkline/bus';
import { z } from 'zod';
import { derivedId } from '../../core/derived-id.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/delivery.ts';
import type { TrackerApi } from './client.ts';

const content = z.object({ content: z.string().min(1) });

const newIssue = z.object({
  title: z.string().min(1),
  teamId: z.string().min(1),
  description: z.string().optional(),
  priority: z.int().min(0).max(4).optional(),
  assigneeId: z.string().optional(),
  projectId: z.string().optional(),
  stateId: z.string().optional(),
  labelIds: z.array(z.string()).optional(),
  parentId: z.string().optional(),
});

const change = newIssue
  .partial()
  .refine((fields) => Object.keys(fields).length > 0, 'nothing to change is given');

const activity = content.extend({
  type: z.enum(['thought', 'response', 'elicitation', 'error']).default('response'),
  error: z.string().optional(),
});

/** Does what the topics `tracker.*` ask for. */
export function createTrackerActions(api: TrackerApi) {
  return async (attempt: DeliveryAttempt): Promise<void> => {
    const [, action, kind = '', id = ''] = attempt.message.topic.split('.');
    if (action === 'create' && kind === 'issue') return await createIssue(attempt, api);
    if (action === 'update' && kind === 'issue') return await updateIssue(attempt, api, unescapeSegment(id));
    if (action === 'reply' && kind !== '') return await reply(attempt, api, unescapeSegment(kind));
    if (action === 'agent_activity' && kind !== '') return await tell(attempt, api, unescapeSegment(kind));
    const words = `${attempt.message.topic} is nothing that the tracker does: use tracker.create.issue, tracker.update.issue.<id>, tracker.reply.<issue> or tracker.agent_activity.<session>.`;
    throw new DeliveryError(words, { permanent: true });
  };
}

/** The id follows from the message, so that a repeated attempt cannot make a second one. */
async function createIssue({ message, signal, arrived }: DeliveryAttempt, api: TrackerApi): Promise<void> {
  const fields = read(newIssue, message.payload);
  const made = await api.call(signal, (client) =>
    client.createIssue({
      ...given(fields),
      title: fields.title,
      teamId: fields.teamId,
      id: uuidOf(message.id),
    }),
  );
  arrived(made.issueId ?? '');
}

async function updateIssue(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  id: string,
): Promise<void> {
  if (id === '') throw new DeliveryError('Name the issue: tracker.update.issue.<id>.', { permanent: true });
  const fields = read(change, message.payload);
  await api.call(signal, (client) => client.updateIssue(id, given(fields)));
  arrived(id);
}

async function reply(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  issueId: string,
): Promise<void> {
  const { content: body } = read(content, message.payload);
  const made = await api.call(signal, (client) =>
    client.createComment({ issueId, body, id: uuidOf(message.id) }),
  );
  arrived(made.commentId ?? '');
}

async function tell(
  { message, signal, arrived }: DeliveryAttempt,
  api: TrackerApi,
  session: string,
): Promise<void> {
  const { content: body, type, error } = read(activity, message.payload);
  const made = await api.call(signal, (client) =>
    client.createAgentActivity({
      agentSessionId: session,
      content: { type: error === undefined ? type : 'error', body },
      id: uuidOf(message.id),
    }),
  );
  arrived(made.agentActivityId ?? '');
}

/** Only what was given: the library takes no undefined fields. */
function given<Fields extends object>(fields: Fields): { [Key in keyof Fields]-?: NonNullable<Fields[Key]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

function uuidOf(id: string): string {
  const hex = derivedId(id, 'tracker');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}

function read<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new DeliveryError(`The message cannot be carried out: ${z.prettifyError(parsed.error)}`, {
    permanent: true,
  });
}
