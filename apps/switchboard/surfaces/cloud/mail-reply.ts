import { unescapeSegment } from '@trunkline/bus';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/delivery.ts';
import type { CloudAccount } from './account.ts';
import { encodeMail, headerOf } from './mail-text.ts';

/** Answers a mail in its thread: `cloud.mail.reply.<id of the mail>`. */
export function createMailReplier(account: CloudAccount) {
  return async ({ message, signal, arrived }: DeliveryAttempt): Promise<void> => {
    const id = unescapeSegment(message.topic.split('.')[3] ?? '');
    const content = text(fieldsOf(message.payload).content);
    if (id === '' || content === undefined) {
      const words = 'A reply needs the topic cloud.mail.reply.<id of the mail> and a content.';
      throw new DeliveryError(words, { permanent: true });
    }
    const gmail = await account.mail();
    const { data: mail } = await account.call(signal, (options) =>
      gmail.users.messages.get({ userId: 'me', id, format: 'metadata' }, options),
    );
    const subject = headerOf(mail, 'subject');
    const raw = encodeMail({
      to: headerOf(mail, 'reply-to') || headerOf(mail, 'from'),
      subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`,
      text: content,
      inReplyTo: headerOf(mail, 'message-id'),
    });
    const requestBody = { raw, ...(mail.threadId && { threadId: mail.threadId }) };
    const sent = await account.call(signal, (options) =>
      gmail.users.messages.send({ userId: 'me', requestBody }, options),
    );
    arrived(sent.data.id ?? '');
  };
}
