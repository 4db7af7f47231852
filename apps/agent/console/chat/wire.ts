import { plural, stateLamp } from '@trunkline/ui';
import type { chatSources } from '../../chats/chat-store.ts';
import type { ChatEntry, ChatFile, ChatTurn } from '../../chats/transcript.ts';
import type { Attachment } from '../../routes/console/chats.ts';
import type { TaskSummary } from '../../routes/console/tasks.ts';

export type { Chat as ChatSummary } from '../../chats/chat-store.ts';
export type { ChatFile } from '../../chats/transcript.ts';
export type { ChatPlace } from '../../routes/console/chat-branches.ts';
export type { ChatModels } from '../../routes/console/chat-models.ts';

/** A file that the service has stored, with a link to it that works for a while. */
export interface UploadedFile extends ChatFile {
  url: string;
}

/** A text file goes with the message itself; any other is stored first. */
export type Attached = Attachment | UploadedFile;

export type Entry = ChatEntry;
export type Turn = ChatTurn;
export type TurnState = Turn['state'];
export type ToolEntry = Extract<Entry, { kind: 'tool' }>;
export type QuestionEntry = Extract<Entry, { kind: 'question' }>;
export type ChatSource = keyof typeof chatSources;

export function isParked({ state }: Pick<Turn, 'state'>): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** More may happen in it. */
export function isOpen(turn: Pick<Turn, 'state'>): boolean {
  return turn.state === 'working' || isParked(turn);
}

export type {
  Part as TaskPart,
  PushDelivery as Delivery,
  TaskLogEvent as TaskEvent,
  TaskSummary,
} from '../../routes/console/tasks.ts';

const ORIGINS: Readonly<Record<string, string>> = {
  chat: 'Chat',
  terminal: 'Terminal',
  platform: 'Platform',
  a2a: 'Agent',
  inbox: 'Inbox',
  schedule: 'Schedule',
};

/** Where a chat or a task came from, for people; a channel that a caller named is shown as it is. */
export function originWord(origin: string): string {
  return ORIGINS[origin] ?? origin;
}

export const STATES: Record<TurnState, ReturnType<typeof stateLamp>> = {
  working: stateLamp('working'),
  'input-required': stateLamp('asks'),
  'auth-required': stateLamp('asks', 'Asks for access'),
  completed: stateLamp('done'),
  failed: stateLamp('failed'),
  canceled: stateLamp('stopped'),
  rejected: stateLamp('refused'),
};

/** "2 calls denied", where the policy or a person denied any: a task that is done may have done nothing. */
export function deniedText({ denied_calls }: Pick<TaskSummary, 'denied_calls'>): string {
  return denied_calls === 0 ? '' : `${plural(denied_calls, 'call')} denied`;
}
