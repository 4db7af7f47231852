import type { gmail_v1 } from '@googleapis/gmail';

const longestMail = 50_000;

export function headerOf({ payload }: gmail_v1.Schema$Message, name: string): string {
  return payload?.headers?.find((header) => header.name?.toLowerCase() === name)?.value ?? '';
}

/** The plain text of a mail; of one that has none, its preview. */
export function textOf(mail: gmail_v1.Schema$Message): string {
  const part = plainPart(mail.payload);
  const text = part?.body?.data ? Buffer.from(part.body.data, 'base64url').toString('utf8') : mail.snippet;
  return (text ?? '').slice(0, longestMail);
}

function plainPart(part: gmail_v1.Schema$MessagePart | undefined): gmail_v1.Schema$MessagePart | undefined {
  if (part === undefined || part.mimeType === 'text/plain') return part;
  return part.parts?.map(plainPart).find((found) => found?.mimeType === 'text/plain');
}

export interface Letter {
  to: string;
  subject: string;
  text: string;
  /** The message that it answers. */
  inReplyTo: string;
}

/** A mail in the form that the API takes. Line ends in what came from outside cannot add headers. */
export function encodeMail({ to, subject, text, inReplyTo }: Letter): string {
  const lines = [
    `To: ${oneLine(to)}`,
    `Subject: =?UTF-8?B?${Buffer.from(oneLine(subject)).toString('base64')}?=`,
    ...(inReplyTo === '' ? [] : [`In-Reply-To: ${oneLine(inReplyTo)}`, `References: ${oneLine(inReplyTo)}`]),
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=UTF-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n'),
  ];
  return Buffer.from(lines.join('\r\n')).toString('base64url');
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}
