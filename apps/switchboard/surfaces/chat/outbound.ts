import { createHash } from 'node:crypto';
import { unescapeSegment } from '@trunkline/bus';
import { plainPost, splitMessage, visibleLinks } from '@trunkline/tools';
import type { REST } from 'discord.js';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/outbox.ts';
import type { ChatState, OpenInteraction, ProgressNotes } from './state.ts';

const prefix = 'message.outbound.chat';

const snowflake = /^\d{5,25}$/;

export interface ChatSettings {
  /** The client of an agent's own bot, or of the main one. */
  restOf(agent: string | undefined): REST;
  state: ChatState;
  progress: ProgressNotes;
  channels: { alert(): string | undefined; digest(): string | undefined };
}

export function createChatSender(settings: ChatSettings) {
  return async (attempt: DeliveryAttempt): Promise<void> => {
    const { message, done } = attempt;
    const address = chatAddress(message.topic);
    const content = text(fieldsOf(message.payload).content);
    if (address === undefined) throw refused(`${message.topic} is no place on the chat platform.`);
    if (content === undefined) throw refused('The message has no content.');
    const rest = settings.restOf(address.agent);
    const parts = splitMessage(visibleLinks(content));
    if (address.kind === 'slash') return await answerCommand(rest, address.id, parts, attempt, settings);
    const channelId = await channelOf(rest, address, settings, attempt.signal);
    for (const [index, part] of parts.entries()) {
      if (index < done.length) continue;
      const note = index === 0 ? await settings.progress.find(message.correlationId, channelId) : undefined;
      const edited = note && (await edit(rest, channelId, note, part, attempt.signal));
      attempt.arrived(
        edited ?? (await post(rest, channelId, part, `${message.id} ${index}`, attempt.signal)),
      );
      if (note !== undefined) await settings.progress.end(message.correlationId);
    }
  };
}

async function channelOf(
  rest: REST,
  address: Exclude<ChatAddress, { kind: 'slash' }>,
  { channels }: ChatSettings,
  signal: AbortSignal,
): Promise<string> {
  if (address.kind === 'channel') return address.id;
  if (address.kind === 'user') {
    const body = { recipient_id: address.id };
    const { id } = await call<{ id: string }>(() => rest.post('/users/@me/channels', { body, signal }));
    return id;
  }
  const id = address.kind === 'alert' ? channels.alert() : channels.digest();
  if (id !== undefined) return id;
  throw refused(
    address.kind === 'alert'
      ? 'There is no channel for alerts: give an entry of channels.yaml the kind alerts, or set channels.digest of chat.yaml.'
      : 'There is no channel for digests: set channels.digest of chat.yaml, or CHAT_DIGEST_CHANNEL.',
  );
}

/** A stable nonce, so that the platform posts a repeated attempt once. */
async function post(
  rest: REST,
  channelId: string,
  content: string,
  key: string,
  signal: AbortSignal,
): Promise<string> {
  const nonce = createHash('sha256').update(key).digest('hex').slice(0, 25);
  const body = { content, nonce, enforce_nonce: true, ...plainPost };
  const { id } = await call<{ id: string }>(() =>
    rest.post(`/channels/${channelId}/messages`, { body, signal }),
  );
  return id;
}

/** Undefined when the message cannot be edited or was deleted. */
async function edit(
  rest: REST,
  channelId: string,
  messageId: string,
  content: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const body = { content, ...plainPost };
    await call(() => rest.patch(`/channels/${channelId}/messages/${messageId}`, { body, signal }));
    return messageId;
  } catch (error) {
    return undefinedWhereRefused(error);
  }
}

function undefinedWhereRefused(error: unknown): undefined {
  if (!(error instanceof DeliveryError) || !error.permanent) throw error;
}

/** The first part replaces "thinking"; when the command can no longer be answered, its channel gets the answer. */
async function answerCommand(
  rest: REST,
  interactionId: string,
  parts: readonly string[],
  { message, done, arrived, signal }: DeliveryAttempt,
  { state }: ChatSettings,
): Promise<void> {
  const open = await state.interaction(interactionId);
  if (open === undefined) throw refused('This command is not known, or was given more than a day ago.');
  for (const [index, content] of parts.entries()) {
    if (index < done.length) continue;
    const key = `${message.id} ${index}`;
    const answered = await followUp(rest, open, { content, isFirst: index === 0 }, signal);
    if (answered !== undefined) arrived(answered);
    else if (open.channelId !== undefined) arrived(await post(rest, open.channelId, content, key, signal));
    else throw refused('This command waits no more: the platform takes answers for 15 minutes.');
  }
}

/** Undefined when the platform accepts no more answers to the command. */
async function followUp(
  rest: REST,
  { applicationId, token }: OpenInteraction,
  { content, isFirst }: { content: string; isFirst: boolean },
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/webhooks/${applicationId}/${token}` as const;
  const options = { body: { content, ...plainPost }, signal, auth: false };
  try {
    const { id } = await call<{ id: string }>(() =>
      isFirst ? rest.patch(`${path}/messages/@original`, options) : rest.post(path, options),
    );
    return id;
  } catch (error) {
    return undefinedWhereRefused(error);
  }
}

function refused(words: string): DeliveryError {
  return new DeliveryError(words, { permanent: true });
}

/** The library waits out rate limits; what is left is a refusal or a server failure. */
async function call<Answer>(work: () => Promise<unknown>): Promise<Answer> {
  try {
    return (await work()) as Answer;
  } catch (error) {
    const { status, message } = error as { status?: number; message?: string };
    const permanent = status !== undefined && status >= 400 && status < 500 && status !== 429;
    const words = `The chat platform answered${status === undefined ? '' : ` ${status}`}: ${message ?? String(error)}`;
    throw new DeliveryError(words, { permanent, cause: error });
  }
}

/** A place on the platform, and the agent whose bot posts there. */
type ChatAddress = { agent?: string } & (
  | { kind: 'channel'; id: string }
  | { kind: 'user'; id: string }
  | { kind: 'slash'; id: string }
  | { kind: 'alert' }
  | { kind: 'digest' }
);

/** Undefined when the topic is no address. */
function chatAddress(topic: string): ChatAddress | undefined {
  const segments = topic
    .slice(prefix.length + 1)
    .split('.')
    .map(unescapeSegment);
  const by = segments.at(-2) === 'by' ? segments.at(-1) : undefined;
  const place = placeOf(by === undefined ? segments : segments.slice(0, -2));
  return place && { ...place, ...(by !== undefined && { agent: by }) };
}

function placeOf([first = '', second = '', third = '', ...rest]: string[]): ChatAddress | undefined {
  if (rest.length > 0) return undefined;
  if (first === 'alert' && second === '') return { kind: 'alert' };
  if (first === 'dm' && second === 'user' && snowflake.test(third)) return { kind: 'user', id: third };
  if (first === 'slash' && snowflake.test(second) && third === '') return { kind: 'slash', id: second };
  if (first === 'push' && third === '')
    return snowflake.test(second) ? { kind: 'channel', id: second } : { kind: 'digest' };
  return snowflake.test(first) && second === '' ? { kind: 'channel', id: first } : undefined;
}
