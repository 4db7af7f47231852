import { type Message, requireStored, type Task, type TaskEngine, type VisibleTasks } from '@trunkline/a2a';
import { type AppEnv, describeRoute, sse } from '@trunkline/http';
import { maySee, type Principal } from '@trunkline/identity';
import type { ContentStore, StoredFile } from '@trunkline/loop';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type MayJoin, standardSession } from '../../callers.ts';
import { type ChatRecorder, chatMetadata } from '../../chats/chat-recorder.ts';
import { type ChatStore, chatSources } from '../../chats/chat-store.ts';
import { uploadScheme } from '../../content/agent-content.ts';
import { type Owners, operatorActor, operatorScope } from '../../owners.ts';
import { citedText, converse, filesSince, type MayAnswer } from '../../turns/converse.ts';
import { joiningMetadata } from '../../turns/executor.ts';
import type { SessionMemory } from '../../turns/session-memory.ts';
import { plainMessages, type SessionStore } from '../../turns/session-store.ts';
import { jsonRoutes } from '../json-routes.ts';
import { branchesAt } from './chat-branches.ts';
import { consoleErrors } from './errors.ts';

const body = z.object({
  message: z.string().trim().min(1),
  session_id: z.string().min(1).max(500).optional(),
});

export interface ChatPageRoutes {
  engine: TaskEngine;
  sessions: SessionStore;
  chats: ChatStore;
  recorder: ChatRecorder;
  owners: Owners;
  files: ContentStore;
  mayJoin: MayJoin;
  mayRead: MayJoin;
}

const sessionId = z.string().min(1).max(500);
const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(30),
  q: z.string().max(200).default(''),
  from: z.enum(Object.keys(chatSources) as (keyof typeof chatSources)[]).default('all'),
  before: z
    .string()
    .regex(/^\d{1,16}\..+$/)
    .optional(),
});
const turnsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(30),
  before: z.coerce.number().int().positive().optional(),
  /** A turn that is to be among them, in whichever branch it is. */
  task: z.string().max(200).optional(),
});
const attachment = z.object({ name: z.string().min(1).max(200), text: z.string().max(200_000) });
export type Attachment = z.output<typeof attachment>;
const newMessage = z.object({
  text: z.string().trim().min(1).max(200_000),
  /** Files as text, which the model reads below the message. */
  attachments: z.array(attachment).max(10).default([]),
  /** Ids of files that POST /api/chat/files has stored. */
  files: z.array(z.string().max(100)).max(10).default([]),
  /** The task whose question the message answers. */
  task_id: z.string().optional(),
  skill: z.string().optional(),
  /** The branch of the conversation in which it is said; left out, the one that is shown. */
  branch: sessionId.optional(),
  /** The sender's own id of the message: sent again under the same id, it is said once. */
  message_id: z.string().min(1).max(100).optional(),
  /** IANA zone of the person: the times they name are in it. */
  timezone: z.string().max(100).optional(),
});

/** Conversations as the chat page shows them. */
export function mountChats(app: Hono<AppEnv>, routes: ChatPageRoutes): void {
  const { engine, sessions, chats, recorder, owners, mayJoin, mayRead } = routes;
  const { get, post } = jsonRoutes(app);
  const list = { summary: 'Conversations, the newest first', query: listQuery };
  get('/api/chat/sessions', list, ({ query: { limit, q, from, before }, principal }) => {
    const origins = chatSources[from];
    const isShared = owners.conversation(principal) === operatorScope;
    const viewer = isShared ? operatorActor.viewer : owners.viewer(principal);
    const found = chats.list({ limit: limit + 1, search: q, origins, viewer, before: cursorOf(before) });
    const listed = found.slice(0, limit);
    const last = found.length > limit ? listed.at(-1) : undefined;
    const next = last === undefined ? null : `${last.updated_at}.${last.session_id}`;
    return { sessions: listed, next };
  });
  const turns = { summary: 'The last turns of a conversation', query: turnsQuery };
  get('/api/chat/sessions/:id', turns, ({ param: { id }, query: { limit, before, task }, principal }) => {
    if (!mayRead(id, principal)) throw consoleErrors.chat_of_others();
    const root = chats.rootOf(id);
    const wanted = task === undefined ? undefined : chats.find(task);
    const isHere = wanted !== undefined && chats.rootOf(wanted.session_id) === root;
    const shown = chats.shown(id);
    const branch = isHere && !chats.holds(shown, wanted) ? wanted.session_id : shown;
    const size = isHere ? Math.max(limit, chats.countFrom(branch, wanted.task_id)) : limit;
    const found = chats.turns(branch, size + 1, before);
    const page = found.slice(-size);
    return {
      chat: chats.chat(root) ?? null,
      branch,
      model: sessions.chosenModel(root)?.model ?? null,
      branches: branchesAt(
        chats,
        root,
        page.map(({ turn }) => turn),
      ),
      turns: page.map(({ turn }) => recorder.find(turn.task_id) ?? turn),
      next: found.length > size ? (page[0]?.number ?? null) : null,
    };
  });
  const say = {
    summary: 'Say something in a conversation, or answer a question in it',
    param: z.object({ id: sessionId }),
    json: newMessage,
  };
  post('/api/chat/sessions/:id/messages', say, async ({ param: { id }, json, principal }) => {
    const { task_id, skill, timezone, message_id: requestId, branch = chats.shown(id), ...given } = json;
    if (!mayJoin(id, principal)) throw consoleErrors.chat_of_others();
    if (chats.rootOf(branch) !== chats.rootOf(id))
      throw consoleErrors.not_found({ what: `branch ${branch} of this conversation` });
    const said = { ...given, files: given.files.map((file) => ownFile(routes, file, principal)) };
    const metadata = {
      ...chatMetadata,
      ...joiningMetadata,
      ...(skill && { skill }),
      ...(timezone && { timezone }),
    };
    // The run of a schedule has a context of its own, wherever it is shown.
    const asked = task_id === undefined ? undefined : recorder.find(task_id);
    const isRun = asked?.schedule !== undefined && asked.session_id === branch;
    const contextId = (isRun && engine.peek(asked.task_id)?.contextId) || branch;
    const message = chatMessage(contextId, said, { taskId: task_id, messageId: requestId });
    const task = await start(engine.for(principal), { message, metadata, requestId });
    chats.show(branch);
    return { task_id: task.id, turn: recorder.find(task.id) };
  });
  app.get(
    '/api/chat/turns/:id/events',
    describeRoute({
      summary: 'A turn as it stands, then what happens in it',
      mediaType: 'text/event-stream',
    }),
    (context) => {
      const id = context.req.param('id');
      const turn = recorder.find(id);
      if (turn === undefined || !mayRead(turn.session_id, context.get('principal')))
        throw consoleErrors.not_found({ what: `turn ${id}` });
      return sse(context, { overflow: 'close', subscribe: (reader) => followTurn(recorder, id, reader) });
    },
  );
}

/** A file that this person has uploaded; one of somebody else is as if it were not there. */
function ownFile({ files, owners }: ChatPageRoutes, id: string, principal: Principal): StoredFile {
  const found = files.find(id);
  if (found !== undefined && maySee(owners.viewer(principal), found.owner)) return found;
  throw consoleErrors.not_found({ what: 'such file any more: attach it again' });
}

type Reader = { send(event: { event: string; data: string }): void; end(): void };

/** A reader that reconnects gets the whole turn again, so that nothing is missing or repeated. */
function followTurn(recorder: ChatRecorder, id: string, reader: Reader): () => void {
  const stop = recorder.follow(id, {
    change: ({ type, ...change }) => reader.send({ event: type, data: JSON.stringify(change) }),
    end: () => reader.end(),
  });
  const turn = recorder.find(id);
  reader.send({ event: 'turn', data: JSON.stringify(turn) });
  return stop;
}

async function start(
  tasks: VisibleTasks,
  said: { message: Message; metadata: Record<string, unknown>; requestId: string | undefined },
): Promise<Task> {
  const { live, stored } = tasks.start({ ...said, strict: said.message.taskId !== undefined });
  await requireStored(stored);
  return live.snapshot();
}

type Said = Pick<z.output<typeof newMessage>, 'text' | 'attachments'> & { files: readonly StoredFile[] };

function chatMessage(
  contextId: string,
  { text, attachments, files: stored }: Said,
  { taskId, messageId = crypto.randomUUID() }: { taskId: string | undefined; messageId: string | undefined },
): Message {
  const files = attachments.map(({ name, text: content }) => ({
    type: 'text' as const,
    text: `\n\nAttached file ${name}:\n\n${content}`,
    metadata: { attachment: name },
  }));
  const references = stored.map(({ id, name, mediaType }) => ({
    type: 'file' as const,
    uri: `${uploadScheme}${id}`,
    name,
    mediaType,
  }));
  return {
    messageId,
    role: 'user',
    parts: [{ type: 'text', text }, ...files, ...references],
    contextId,
    ...(taskId !== undefined && { taskId }),
  };
}

function cursorOf(text: string | undefined) {
  if (text === undefined) return undefined;
  const dot = text.indexOf('.');
  return { updated_at: Number(text.slice(0, dot)), session_id: text.slice(dot + 1) };
}

interface ChatRoutes {
  engine: TaskEngine;
  sessions: SessionStore;
  memory: SessionMemory;
  chats: ChatStore;
  files: ContentStore;
  mayAnswer: MayAnswer;
  mayJoin: MayJoin;
  /** Whether whoever comes in is the operator. */
  isOpen: boolean;
}

/** Plain chat: one message in, one answer out; a question of the agent is answered by the next message. */
export function mountChat(
  app: Hono<AppEnv>,
  { engine, sessions, memory, chats, files, mayAnswer, mayJoin, isOpen }: ChatRoutes,
): void {
  const route = jsonRoutes(app);
  const say = { summary: 'Say something and get the answer', json: body };
  route.post('/api/chat', say, async ({ json, principal }) => {
    const { message: text, session_id: contextId = standardSession(principal, isOpen) } = json;
    if (!mayJoin(contextId, principal)) throw consoleErrors.chat_of_others();
    const said = { contextId, text, principal, metadata: chatMetadata };
    const conversed = await converse(engine, said, mayAnswer);
    const { task } = conversed;
    const made = filesSince(conversed).map((file) => fileView(file, files));
    return {
      response: citedText(conversed),
      messages: plainMessages(sessions.load(contextId).messages),
      state: task.state,
      task_id: task.id,
      ...(made.length > 0 && { files: made }),
    };
  });
  const forget = { summary: 'Forget a conversation' };
  route.delete('/api/chat/sessions/:id', forget, async ({ param: { id }, principal }) => {
    if (!mayJoin(id, principal)) throw consoleErrors.chat_of_others();
    const root = chats.rootOf(id);
    const branches = chats.branches(root);
    for (const branch of branches) for (const task of openTasks(engine, branch)) engine.cancel(task, false);
    for (const branch of branches) files.forget(branch);
    await memory.forget(root);
    const deleted = [...branches.map((branch) => sessions.delete(branch)), chats.delete(root)].includes(true);
    return { ok: true, deleted };
  });
}

type FilePart = ReturnType<typeof filesSince>[number];

/** As `/api/chat/files` shows it; the address works for an hour, for whoever has it. */
function fileView(
  { name = 'file', mediaType = 'application/octet-stream', uri, metadata }: FilePart,
  files: ContentStore,
) {
  const id = typeof metadata?.file === 'string' ? metadata.file : undefined;
  return { name, media_type: mediaType, url: id === undefined ? uri : files.link(id) };
}

/** The tasks of a conversation that run or wait. */
function openTasks(engine: TaskEngine, contextId: string): string[] {
  const states = ['working', 'input-required', 'auth-required'];
  return states.flatMap((state) => engine.list({ contextId, state }).tasks.map(({ id }) => id));
}
