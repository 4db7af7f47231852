import { hash, randomUUID } from 'node:crypto';

export interface Letter {
  to: string;
  subject: string;
  text: string;
  /** Message-ID of the answered mail. */
  inReplyTo: string;
  messageId: string;
  files: readonly { name: string; mediaType: string; bytes: Uint8Array }[];
}

/** A mail as the API takes it (RFC 5322, MIME). Line breaks in outside text cannot add headers. */
export function encodeMail({ to, subject, text, inReplyTo, messageId, files }: Letter): string {
  const lines = [
    `To: ${oneLine(to)}`,
    `Subject: =?UTF-8?B?${Buffer.from(oneLine(subject)).toString('base64')}?=`,
    ...(inReplyTo === '' ? [] : [`In-Reply-To: ${oneLine(inReplyTo)}`, `References: ${oneLine(inReplyTo)}`]),
    `Message-ID: ${messageId}`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    ...(files.length === 0 ? textPart(text) : mixed([textPart(text), ...files.map(filePart)])),
  ];
  return lines.join('\r\n');
}

/** The boundary is random, so that no file can hold it. */
function mixed(parts: readonly string[][]): string[] {
  const boundary = `part-${randomUUID()}`;
  return [
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    '',
    ...parts.flatMap((part) => [`--${boundary}`, ...part]),
    `--${boundary}--`,
    '',
  ];
}

function textPart(text: string): string[] {
  return [
    'Content-Type: text/plain; charset=UTF-8',
    'Content-Transfer-Encoding: base64',
    '',
    lined(Buffer.from(text)),
  ];
}

/** The name in the form of RFC 2231, which takes any character. */
function filePart({ name, mediaType, bytes }: Letter['files'][number]): string[] {
  const encoded = encodeURIComponent(oneLine(name).toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return [
    `Content-Type: ${oneLine(mediaType)}`,
    `Content-Disposition: attachment; filename*=UTF-8''${encoded}`,
    'Content-Transfer-Encoding: base64',
    '',
    lined(Buffer.from(bytes)),
  ];
}

function lined(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}/g, '$&\r\n');
}

/** The same for every attempt at a message, so that mail programs and we know it again. */
export function messageIdOf(id: string): string {
  return `<${hash('sha256', id).slice(0, 32)}@trunkline.invalid>`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}
