import type { gmail_v1 } from '@googleapis/gmail';
import { type Draft, escapeSegment, unescapeSegment } from '@trunkline/bus';
import { withOrigins } from '@trunkline/identity';
import { systemClock } from '@trunkline/schedule';
import type { FileSource } from '../../content/references.ts';
import { derivedId, principalOf } from '../../core/messages.ts';
import type { PluginContext } from '../../core/plugins.ts';
import { pause } from '../../core/timers.ts';
import { fieldsOf, text } from '../../dispatch/request.ts';
import type { CloudFile } from '../../workspace/schema/chat.ts';
import { type DeliveryAttempt, DeliveryError, notTaken } from '../delivery/outbox.ts';
import type { CloudAccount } from './account.ts';
import type { CloudPoll } from './calendar.ts';
import { encodeMail, type Letter, messageIdOf } from './letter.ts';

const longestMail = 50_000;

/** The most that the mailbox returns. */
const pageSize = 500;
const mostPages = 20;

/** Publishes new mail under the watched labels; mail from before the first poll is skipped. */
export async function pollMail(
  poll: CloudPoll,
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
  poll: CloudPoll,
  gmail: gmail_v1.Gmail,
  watched: WatchedLabel,
  signal: AbortSignal,
): Promise<void> {
  const { account, bus, state, senders } = poll;
  const isFirst = (await state.mark(`label ${watched.label}`)) === undefined;
  const fresh = await unseenMails(poll, gmail, watched.id, signal);
  for (const id of fresh.reverse()) {
    if (!isFirst) {
      const mail = await account.call(signal, (options) =>
        gmail.users.messages.get({ userId: 'me', id, format: 'full' }, options),
      );
      if (!isOurs(mail.data)) {
        const { identity, isProven } = senderOf(mail.data);
        const draft = draftOf(mail.data, id, watched);
        const stamped = senders.stamp(draft, { identity, isProven, isForgeable: true });
        const marked = quotesOthers(mail.data) ? withQuotes(stamped, identity) : stamped;
        if (senders.takes(stamped, { isForgeable: true }))
          await bus.publish(await poll.files.receive(marked, attachmentsOf(mail.data, id, account, gmail)));
      }
    }
    await state.see(id);
  }
  await state.setMark(`label ${watched.label}`, 'read');
}

/** The newest first, until a page holds mail that was seen before. */
async function unseenMails(
  { account, state }: CloudPoll,
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
    proven: senderOf(mail).isProven,
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

/** The name under which the mailbox checks senders. */
const mailbox = 'mx.google.com';

/** Who wrote a mail, and whether the mailbox's own check (DMARC) says that it came from there. */
export function senderOf(mail: gmail_v1.Schema$Message): { identity: string; isProven: boolean } {
  const froms = mail.payload?.headers?.filter(({ name }) => name?.toLowerCase() === 'from') ?? [];
  const address = froms.length === 1 ? addressIn(froms[0]?.value ?? '') : undefined;
  if (address === undefined) return { identity: 'mail:unknown', isProven: false };
  return { identity: `mail:${address}`, isProven: provenDomain(mail) === domainOf(address) };
}

/** The one address of a header, in lower case; undefined when there are none or several. */
function addressIn(header: string): string | undefined {
  const [, address] =
    /^[^<>]*<([^\s@<>,]+@[^\s@<>,]+)>\s*$|^([^\s@<>,]+@[^\s@<>,]+)$/
      .exec(header.trim())
      ?.filter((part) => part !== undefined) ?? [];
  return address === undefined || address.length > 254 ? undefined : address.toLowerCase();
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/**
 * The domain for which DMARC passed (RFC 8601). Only the first header of this name is the mailbox's: whoever sends can
 * write others below. It quotes what the sender says of himself in comments and strings, so these do not count, and
 * more than one verdict proves nothing.
 */
function provenDomain(mail: gmail_v1.Schema$Message): string | undefined {
  const header = headerOf(mail, 'authentication-results').toLowerCase();
  const [server = '', ...results] = withoutQuoted(header)?.split(';') ?? [];
  if (server.trim().split(/\s/)[0] !== mailbox || header.split('dmarc=').length !== 2) return undefined;
  const verdict = results.map((result) => result.trim()).find((result) => /^dmarc=pass\s/.test(result));
  return verdict && /\sheader\.from=([\w.-]+)(\s|$)/.exec(verdict)?.[1];
}

/** A header without comments, which may lie in each other, and quoted strings; undefined where one does not end. */
function withoutQuoted(header: string): string | undefined {
  let [plain, depth, isQuoted] = ['', 0, false];
  for (const [part] of header.matchAll(/\\?./gs)) {
    if (part === '"' && depth === 0) isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (part === '(') depth += 1;
    else if (part === ')') depth -= 1;
    else if (depth === 0) plain += part;
    if (depth < 0) return undefined;
  }
  return depth === 0 && !isQuoted ? plain : undefined;
}

/** The sender's other address counts only where the mailbox proves the sender, or in the same domain. */
function answerTo(mail: gmail_v1.Schema$Message): string {
  const [from, wanted] = [headerOf(mail, 'from'), headerOf(mail, 'reply-to')];
  const [sender, other] = [from, wanted].map(addressIn);
  const isSame = sender !== undefined && other !== undefined && domainOf(sender) === domainOf(other);
  return wanted !== '' && (isSame || senderOf(mail).isProven) ? wanted : from;
}

const ANSWER_HEADERS = ['in-reply-to', 'references', 'x-forwarded-message-id', 'resent-from'];
const ANSWER_SUBJECT =
  /^\s*(?:re|aw|sv|vs|antw|odp|ynt|res|rif|fwd?|wg|tr|rv|vb|vl|doorst|pd|ilt|enc|回复|答复|回覆|转发|轉寄)\s*(?:\[\d+\]\s*)?[:：]/i;
const QUOTED_LINE = /^(?:>|\|(?:\s|$)|_{8,}$|begin forwarded message:)/i;

/**
 * Whether a mail may hold the words of others: answers and forwarded mails do, and each program quotes in its own way
 * and language.
 */
export function quotesOthers(mail: gmail_v1.Schema$Message): boolean {
  return (
    ANSWER_HEADERS.some((name) => headerOf(mail, name) !== '') ||
    ANSWER_SUBJECT.test(headerOf(mail, 'subject').replaceAll(/\s+/g, ' ')) ||
    textOf(mail)
      .split(/[\n\r\u2028\u2029]/)
      .some((line) => isQuotation(line.trim()))
  );
}

/** Looks at one line alone: whoever sends a mail must not be able to choose how long a search through all of it takes. */
function isQuotation(line: string): boolean {
  const isBetweenDashes = line.length >= 4 && line.startsWith('--') && line.endsWith('--');
  return isBetweenDashes || QUOTED_LINE.test(line);
}

/** Whoever sends it vouches for their own words only. */
function withQuotes(draft: Draft, identity: string): Draft {
  const origins = [{ kind: 'message', source: `${identity}, who quotes others` }];
  return { ...draft, principal: withOrigins(principalOf(draft), origins) };
}

/** A label on a thread is on our own mails of it too. */
function isOurs({ labelIds }: gmail_v1.Schema$Message): boolean {
  return ['SENT', 'DRAFT'].some((label) => labelIds?.includes(label));
}

/** From a machine, such as an absence notice: an answer could start a loop (RFC 3834). */
function isAutomatic(mail: gmail_v1.Schema$Message): boolean {
  return !/^(no\b.*)?$/i.test(headerOf(mail, 'auto-submitted').trim());
}

function headerOf({ payload }: gmail_v1.Schema$Message, name: string): string {
  return payload?.headers?.find((header) => header.name?.toLowerCase() === name)?.value ?? '';
}

/** The plain text, else the preview. */
function textOf(mail: gmail_v1.Schema$Message): string {
  const part = plainPart(mail.payload);
  const text = part?.body?.data ? Buffer.from(part.body.data, 'base64url').toString('utf8') : mail.snippet;
  return (text ?? '').slice(0, longestMail);
}

function plainPart(part: gmail_v1.Schema$MessagePart | undefined): gmail_v1.Schema$MessagePart | undefined {
  // A text file that is attached is not what was written.
  return partsIn(part).find(({ mimeType, filename }) => mimeType === 'text/plain' && !filename);
}

/** The attachments of a mail; the mailbox gives out large ones by their id. */
function attachmentsOf(
  { payload }: gmail_v1.Schema$Message,
  messageId: string,
  account: CloudAccount,
  gmail: gmail_v1.Gmail,
): FileSource[] {
  return partsIn(payload).flatMap(({ filename, mimeType, body }) => {
    if (!filename || !body) return [];
    const read = async (signal: AbortSignal) => {
      const { attachmentId: id } = body;
      if (!id) return Buffer.from(body.data ?? '', 'base64url');
      const { data } = await withRetries(signal, () =>
        account.call(signal, (options) =>
          gmail.users.messages.attachments.get({ userId: 'me', messageId, id }, options),
        ),
      );
      return Buffer.from(data.data ?? '', 'base64url');
    };
    return [{ name: filename, mediaType: mimeType ?? '', size: body.size ?? undefined, read }];
  });
}

const mostTries = 3;
const retryMs = 1000;

/** The mail is read once: what may pass is tried again now, within the time that the signal leaves. */
async function withRetries<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      return await work();
    } catch (error) {
      const mayPass = error instanceof DeliveryError && !error.permanent && !signal.aborted;
      if (!mayPass || tries === mostTries) throw error;
      await pause(error.retryAfterMs ?? retryMs * tries, systemClock, signal);
    }
}

function partsIn(part: gmail_v1.Schema$MessagePart | undefined): gmail_v1.Schema$MessagePart[] {
  return part === undefined ? [] : [part, ...(part.parts ?? []).flatMap(partsIn)];
}

type MailFiles = Pick<PluginContext['files'], 'open'>;

/** Handles `cloud.mail.reply.<id of the mail>`: answers in the thread. */
export function createMailReplier(account: CloudAccount, files: MailFiles) {
  /** The id of a mail of the thread that an earlier attempt has sent. Google keeps a Message-ID that it replaces. */
  const sentIn = async (thread: string, messageId: string, signal: AbortSignal) => {
    const gmail = await account.mail();
    const { data } = await account.call(signal, (options) =>
      gmail.users.threads.get({ userId: 'me', id: thread, format: 'metadata' }, options),
    );
    const headers = ['message-id', 'x-google-original-message-id'];
    return data.messages?.find((mail) => headers.some((name) => headerOf(mail, name) === messageId))?.id;
  };
  return async ({ message, signal, arrived, isRepeat }: DeliveryAttempt): Promise<void> => {
    const id = unescapeSegment(message.topic.split('.')[3] ?? '');
    const content = text(fieldsOf(message.payload).content);
    const attached = await files.open(message.payload, message.principal);
    if (id === '' || (content === undefined && attached.files.length === 0)) {
      const words = 'A reply needs the topic cloud.mail.reply.<id of the mail> and a content.';
      throw new DeliveryError(words, { permanent: true });
    }
    const gmail = await account.mail();
    const { data: mail } = await account.call(signal, (options) =>
      gmail.users.messages.get({ userId: 'me', id, format: 'metadata' }, options),
    );
    const subject = headerOf(mail, 'subject');
    const lost = attached.lost.map((words) => `(${words})`);
    const head = {
      to: answerTo(mail),
      subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`,
      inReplyTo: headerOf(mail, 'message-id'),
      messageId: messageIdOf(message.id),
    };
    const before =
      isRepeat && mail.threadId ? await sentIn(mail.threadId, head.messageId, signal) : undefined;
    if (before) return arrived(before);
    const thread = mail.threadId ? { threadId: mail.threadId } : {};
    const send = (words: readonly string[], files: Letter['files']) => {
      const letter = encodeMail({ ...head, text: words.join('\n'), files });
      // Only an upload takes mails with large files.
      const request =
        files.length === 0
          ? { requestBody: { raw: Buffer.from(letter).toString('base64url'), ...thread } }
          : { requestBody: thread, media: { mimeType: 'message/rfc822', body: letter } };
      return account.call(signal, (options) =>
        gmail.users.messages.send({ userId: 'me', ...request }, options),
      );
    };
    const words = [content ?? '', ...lost];
    const sent = await send(words, attached.files).catch((error: unknown) =>
      send([...words, notTaken('The mail service', attached.files, error)], []),
    );
    arrived(sent.data.id ?? '');
  };
}
