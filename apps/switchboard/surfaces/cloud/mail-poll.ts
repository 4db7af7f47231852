import type { gmail_v1 } from '@googleapis/gmail';
import { type Bus, type Draft, escapeSegment } from '@trunkline/bus';
import { derivedId } from '../../core/derived-id.ts';
import { fromSurface } from '../../core/principals.ts';
import type { CloudFile } from '../../workspace/schema/cloud.ts';
import type { CloudAccount } from './account.ts';
import { headerOf, textOf } from './mail-text.ts';
import type { PollState } from './poll-state.ts';

export interface MailPoll {
  account: CloudAccount;
  bus: Bus;
  state: PollState;
}

/** As many as the mailbox gives at once. */
const pageSize = 500;
const mostPages = 20;

/** Publishes mail that came under the watched labels; what was there before the first time is left alone. */
export async function pollMail(
  poll: MailPoll,
  config: CloudFile['gmail'],
  signal: AbortSignal,
): Promise<void> {
  const gmail = await poll.account.mail();
  const ids = await labelIds(poll.account, gmail, signal);
  for (const label of config.watchLabels) {
    const id = ids.get(label.toLowerCase());
    if (id === undefined)
      throw new Error(`The mailbox has no label ${label}; change gmail.watchLabels of cloud.yaml.`);
    await pollLabel(poll, gmail, { label, id, skillHint: hintFor(label, config) }, signal);
  }
}

interface WatchedLabel {
  label: string;
  id: string;
  skillHint: string | undefined;
}

async function pollLabel(
  poll: MailPoll,
  gmail: gmail_v1.Gmail,
  watched: WatchedLabel,
  signal: AbortSignal,
): Promise<void> {
  const { account, bus, state } = poll;
  const isFirst = (await state.mark(`label ${watched.label}`)) === undefined;
  const fresh = await unseenMails(poll, gmail, watched.id, signal);
  for (const id of fresh.reverse()) {
    if (!isFirst) {
      const mail = await account.call(signal, (options) =>
        gmail.users.messages.get({ userId: 'me', id, format: 'full' }, options),
      );
      if (!isOurs(mail.data)) await bus.publish(fromSurface(draftOf(mail.data, id, watched)));
    }
    await state.see(id);
  }
  await state.setMark(`label ${watched.label}`, 'read');
}

/** The newest first, page after page until one holds what was seen before. */
async function unseenMails(
  { account, state }: MailPoll,
  gmail: gmail_v1.Gmail,
  labelId: string,
  signal: AbortSignal,
): Promise<string[]> {
  const unseen: string[] = [];
  let pageToken: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const query = {
      userId: 'me',
      labelIds: [labelId],
      maxResults: pageSize,
      ...(pageToken && { pageToken }),
    };
    const { data } = await account.call(signal, (options) => gmail.users.messages.list(query, options));
    const ids = (data.messages ?? []).flatMap(({ id }) => (id ? [id] : []));
    const found: string[] = [];
    for (const id of ids) if (!(await state.hasSeen(id))) found.push(id);
    unseen.push(...found);
    if (!data.nextPageToken || found.length < ids.length) return unseen;
    pageToken = data.nextPageToken;
  }
  return unseen;
}

async function labelIds(
  account: CloudAccount,
  gmail: gmail_v1.Gmail,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const { data } = await account.call(signal, (options) =>
    gmail.users.labels.list({ userId: 'me' }, options),
  );
  return new Map((data.labels ?? []).map(({ id, name }) => [(name ?? '').toLowerCase(), id ?? '']));
}

function hintFor(label: string, { routingRules }: CloudFile['gmail']): string | undefined {
  return routingRules.find((rule) => rule.label.toLowerCase() === label.toLowerCase())?.skillHint;
}

function draftOf(mail: gmail_v1.Schema$Message, id: string, { label, skillHint }: WatchedLabel): Draft {
  const [from, subject] = [headerOf(mail, 'from'), headerOf(mail, 'subject')];
  const payload = {
    content: `Mail from ${from}: ${subject}\n\n${textOf(mail)}`.trim(),
    ...(skillHint !== undefined && { skillHint }),
    mail: { id, threadId: mail.threadId, from, subject, label },
    arrivedAt: Date.now(),
  };
  return {
    topic: `message.inbound.cloud.mail.${escapeSegment(label)}`,
    payload: JSON.parse(JSON.stringify(payload)),
    id: derivedId(id, 'mail'),
    source: { interface: 'cloud', channelId: label, userId: from },
    ...(!isAutomatic(mail) && { reply: { topic: `cloud.mail.reply.${escapeSegment(id)}`, format: 'text' } }),
  };
}

/** A label that is put on a thread is put on our own part of it too. */
function isOurs({ labelIds }: gmail_v1.Schema$Message): boolean {
  return ['SENT', 'DRAFT'].some((label) => labelIds?.includes(label));
}

/** Of a machine, such as a notice of absence: an answer would be answered again, without end (RFC 3834). */
function isAutomatic(mail: gmail_v1.Schema$Message): boolean {
  return !/^(no\b.*)?$/i.test(headerOf(mail, 'auto-submitted').trim());
}
