import { createHash } from 'node:crypto';
import { unescapeSegment } from '@trunkline/bus';
import { plainPost, splitMessage, visibleLinks } from '@trunkline/tools';
import type { REST } from 'discord.js';
import type { PluginContext } from '../../core/plugins.ts';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type DeliveryAttempt, DeliveryError, notTaken } from '../delivery/outbox.ts';
import type { ChatState, OpenInteraction, ProgressNotes } from './state.ts';

const prefix = 'message.outbound.chat';

const snowflake = /^\d{5,25}$/;

export interface ChatSettings {
  /** The client of an agent's own bot, or of the main one. */
  restOf(agent: string | undefined): REST;
  state: ChatState;
  progress: ProgressNotes;
  files: Pick<PluginContext['files'], 'open'>;
  channels: { alert(): string | undefined; digest(): string | undefined };
}

export function createChatSender(settings: ChatSettings) {
  return async (attempt: DeliveryAttempt): Promise<void> => {
    const { message, done } = attempt;
    const address = chatAddress(message.topic);
    const content = text(fieldsOf(message.payload).content);
    const { files, lost } = await settings.files.open(message.payload, message.principal);
    if (address === undefined) throw refused(`${message.topic} is no place on the chat platform.`);
    if (content === undefined && files.length === 0) throw refused('The message has no content.');
    const rest = settings.restOf(address.agent);
    const words = [content ?? '', ...lost.map((why) => `(${why})`)];
    const parts = splitMessage(visibleLinks(words.filter((each) => each !== '').join('\n')));
    if (address.kind === 'slash')
      return await answerCommand(rest, address.id, { parts, files }, attempt, settings);
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
    await postFiles(rest, `/channels/${channelId}/messages`, { files, parts }, attempt);
  };
}

type OpenFiles = Awaited<ReturnType<ChatSettings['files']['open']>>['files'];

/** The most that the platform takes in one message. */
const mostAttached = 10;

const platform = 'The chat platform';

/** Posts the files behind the text. Of a post that is refused each file goes alone, and those that are refused then are named. */
async function postFiles(
  rest: REST,
  path: `/${string}`,
  { files, parts }: { files: OpenFiles; parts: readonly string[] },
  { message, done, arrived, signal }: DeliveryAttempt,
): Promise<void> {
  for (let from = 0; from < files.length; from += mostAttached) {
    const index = parts.length + from / mostAttached;
    if (index < done.length) continue;
    const attached = files.slice(from, from + mostAttached);
    const send = (words: string, given: OpenFiles, key = '') => {
      const content = words.slice(0, 1900);
      const nonce = nonceOf(`${message.id} ${index}${key}`);
      const body = { content, nonce, enforce_nonce: true, ...plainPost };
      const data = given.map(({ name, mediaType: contentType, bytes }) => ({
        name,
        contentType,
        data: Buffer.from(bytes),
      }));
      return call<{ id: string }>(() => rest.post(path, { body, files: data, signal }));
    };
    const { id } = await send('', attached).catch(async (refusal: unknown) => {
      const words = notTaken(platform, attached, refusal);
      if (attached.length === 1) return await send(words, []);
      const refusals: string[] = [];
      let last: { id: string } | undefined;
      for (const [place, file] of attached.entries())
        last = await send('', [file], `.${place}`).catch((error: unknown) => {
          refusals.push(notTaken(platform, [file], error));
          return last;
        });
      return refusals.length === 0 && last !== undefined ? last : await send(refusals.join('\n'), []);
    });
    arrived(id);
  }
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
  const body = { content, nonce: nonceOf(key), enforce_nonce: true, ...plainPost };
  const { id } = await call<{ id: string }>(() =>
    rest.post(`/channels/${channelId}/messages`, { body, signal }),
  );
  return id;
}

function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 25);
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
  { parts, files }: { parts: readonly string[]; files: OpenFiles },
  attempt: DeliveryAttempt,
  { state }: ChatSettings,
): Promise<void> {
  const { message, done, arrived, signal } = attempt;
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
  if (files.length === 0) return;
  if (open.channelId === undefined)
    throw refused('The files of the answer have no channel to go to: give the command in a channel.');
  await postFiles(rest, `/channels/${open.channelId}/messages`, { files, parts }, attempt);
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
