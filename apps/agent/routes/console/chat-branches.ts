import { requireStored, type Task, type TaskEngine } from '@trunkline/a2a';
import type { AppEnv } from '@trunkline/http';
import { type Principal, withOrigins } from '@trunkline/identity';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { MayJoin } from '../../callers.ts';
import { type ChatRecorder, chatMetadata } from '../../chats/chat-recorder.ts';
import type { ChatStore } from '../../chats/chat-store.ts';
import type { ChatTurn } from '../../chats/transcript.ts';
import { type Owners, operatorActor, operatorScope } from '../../owners.ts';
import { joiningMetadata } from '../../turns/executor.ts';
import type { Asker, SessionStore } from '../../turns/session-store.ts';
import { jsonRoutes } from '../json-routes.ts';
import { consoleErrors } from './errors.ts';

export interface ChatBranchRoutes {
  engine: TaskEngine;
  chats: ChatStore;
  sessions: SessionStore;
  recorder: ChatRecorder;
  owners: Owners;
  mayJoin: MayJoin;
}

/** Of one conversation. */
const maxBranches = 100;
/** Characters around what a search found. */
const around = 60;

const sessionId = z.string().min(1).max(500);
const newBranch = z.object({
  /** The turn beside which the branch begins. */
  task_id: z.string().min(1).max(200),
  /** What is said instead of the turn's message; left out, the same is said again. */
  text: z.string().trim().min(1).max(200_000).optional(),
  timezone: z.string().max(100).optional(),
});
const searchQuery = z.object({
  q: z.string().trim().min(2).max(200),
  limit: z.coerce.number().int().min(1).max(50).default(20),
});

/** Where a search found its words. */
export interface ChatPlace {
  session_id: string;
  title: string;
  task_id: string;
  /** Who said it. */
  by: 'user' | 'agent';
  before: string;
  match: string;
  after: string;
  created_at: number;
}

/** Branches of a conversation, beside a message that was edited or an answer that was made again; and the search. */
export function mountChatBranches(app: Hono<AppEnv>, routes: ChatBranchRoutes): void {
  const { engine, chats, sessions, recorder, owners, mayJoin } = routes;
  const { get, post, put } = jsonRoutes(app);
  const fork = {
    summary: 'Edit a message or make an answer again, in a new branch of the conversation',
    param: z.object({ id: sessionId }),
    json: newBranch,
  };
  post('/api/chat/sessions/:id/branches', fork, async ({ param: { id }, json, principal }) => {
    if (!mayJoin(id, principal)) throw consoleErrors.chat_of_others();
    const turn = recorder.find(json.task_id);
    const root = chats.rootOf(id);
    if (turn === undefined || chats.rootOf(turn.session_id) !== root)
      throw consoleErrors.not_found({ what: `turn ${json.task_id} in this conversation` });
    if (turn.schedule !== undefined) throw consoleErrors.turn_of_schedule();
    if (chats.branches(root).length > maxBranches) throw consoleErrors.too_many_branches();
    const task = engine.peek(turn.task_id);
    const message = messageOf(turn, task, json.text);
    const branch = `branch-${crypto.randomUUID()}`;
    const forked = sessions.fork(turn.task_id, branch);
    if (forked === undefined) throw consoleErrors.turn_not_kept();
    chats.addBranch(branch, turn, forked.without);
    try {
      const { timezone } = json;
      const metadata = {
        ...{ ...chatMetadata, ...joiningMetadata, ...message.metadata },
        ...(timezone && { timezone }),
      };
      const said = { messageId: crypto.randomUUID(), role: 'user' as const, parts: message.parts };
      const hasOwnWordsAlone = json.text !== undefined && message.parts.length === 1;
      const asker = forked.asker ?? { owner: task?.owner ?? 'unknown' };
      const { live, stored } = engine
        .for(hasOwnWordsAlone ? principal : sayingAgain(principal, asker, owners))
        .start({ message: { ...said, contextId: branch }, metadata, strict: false });
      await requireStored(stored);
      chats.show(branch);
      return { task_id: live.id, branch, turn: recorder.find(live.id) };
    } catch (error) {
      chats.removeBranch(branch);
      sessions.delete(branch);
      throw error;
    }
  });

  const show = {
    summary: 'Show another branch of a conversation',
    param: z.object({ id: sessionId }),
    json: z.object({ branch: sessionId }),
  };
  put('/api/chat/sessions/:id/branch', show, ({ param: { id }, json: { branch }, principal }) => {
    if (!mayJoin(id, principal)) throw consoleErrors.chat_of_others();
    if (!chats.branches(chats.rootOf(id)).includes(branch))
      throw consoleErrors.not_found({ what: `branch ${branch} of this conversation` });
    chats.show(branch);
    return { branch };
  });

  const search = { summary: 'Find words that were said in conversations', query: searchQuery };
  get('/api/chat/search', search, ({ query: { q, limit }, principal }) => {
    const isShared = owners.conversation(principal) === operatorScope;
    const viewer = isShared ? operatorActor.viewer : owners.viewer(principal);
    const found = chats.search(q, viewer, limit * 2);
    return { places: found.flatMap((turn) => placeIn(turn, q) ?? []).slice(0, limit) };
  });
}

/** Somebody who sends what another wrote: it stays the words of a stranger, so that effects ask. */
function sayingAgain(principal: Principal, { owner, origins = [] }: Asker, owners: Owners): Principal {
  const others = owners.isAsker(principal, owner) ? [] : [{ kind: 'message', source: owner }];
  return withOrigins(principal, [...origins, ...others]);
}

/** The branches that stand beside each other at turns, by the turn's id. */
export function branchesAt(chats: ChatStore, root: string, turns: readonly ChatTurn[]) {
  if (chats.branches(root).length === 1) return {};
  const beside = turns.map((turn) => [turn.task_id, chats.beside(turn)] as const);
  return Object.fromEntries(beside.filter(([, sessions]) => sessions.length > 1));
}

/** The message that began a turn, with its files and its skill; with other words where there are some. */
function messageOf({ entries }: ChatTurn, task: Task | undefined, words: string | undefined) {
  const first = task?.history.find(({ role }) => role === 'user');
  const skill = task?.metadata?.skill;
  const metadata = typeof skill === 'string' ? { skill } : {};
  if (first === undefined) {
    const said = entries.find((entry) => entry.kind === 'user');
    // The task is no longer stored, and with it which files it had.
    if (said === undefined || said.attachments.length > 0 || said.files !== undefined)
      throw consoleErrors.turn_not_kept();
    return { parts: [{ type: 'text' as const, text: words ?? said.text }], metadata };
  }
  if (words === undefined) return { parts: first.parts, metadata };
  const files = first.parts.filter((part) => part.type !== 'text' || part.metadata?.attachment !== undefined);
  return { parts: [{ type: 'text' as const, text: words }, ...files], metadata };
}

function placeIn(turn: ChatTurn & { root: string; title: string }, words: string): ChatPlace | undefined {
  for (const entry of turn.entries) {
    if (entry.kind !== 'user' && entry.kind !== 'text') continue;
    const { text } = entry;
    const at = text.toLowerCase().indexOf(words.toLowerCase());
    if (at === -1) continue;
    const end = at + words.length;
    const { root, title, task_id, created_at } = turn;
    return {
      ...{ session_id: root, title, task_id, created_at },
      by: entry.kind === 'user' ? 'user' : 'agent',
      before: `${at > around ? '…' : ''}${text.slice(Math.max(0, at - around), at)}`,
      match: text.slice(at, end),
      after: `${text.slice(end, end + around)}${text.length > end + around ? '…' : ''}`,
    };
  }
  return undefined;
}
