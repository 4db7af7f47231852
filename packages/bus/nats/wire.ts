import type { MsgHdrs } from '@nats-io/transport-node';
import { decodeMessage } from '../message.ts';
import type { BusLogger, Message } from '../port.ts';
import { onlyForHeader } from './outbox.ts';

interface Received {
  subject: string;
  headers?: MsgHdrs | undefined;
  string(): string;
}

/** Reads a message from the wire; undefined, with a word in the log, for what no bus has written. */
export function readMessage(received: Received, logger: BusLogger): Message | undefined {
  try {
    const message = decodeMessage(received.string());
    const { id, topic, correlationId } = message;
    if ([id, topic, correlationId].every((field) => typeof field === 'string')) return message;
  } catch (error) {
    logger.warn({ subject: received.subject, err: error }, 'Something that is no message came over NATS');
    return undefined;
  }
  logger.warn({ subject: received.subject }, 'A message without id, topic or correlation came over NATS');
  return undefined;
}

/** The only durable name that a message is for, or undefined when it is for all. */
export function onlyFor({ headers }: Pick<Received, 'headers'>): string | undefined {
  return headers?.get(onlyForHeader) || undefined;
}
