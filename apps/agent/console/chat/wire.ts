// What the service says of conversations.

export type TurnState =
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected';

export interface ToolEntry {
  kind: 'tool';
  id: string;
  name: string;
  phase: 'started' | 'completed' | 'failed';
  args?: unknown;
  result?: unknown;
  started_at: number;
  ended_at: number | null;
}

export interface QuestionEntry {
  kind: 'question';
  text: string;
  /** What a form asks for; null for a plain question. */
  schema: unknown;
}

export type Entry =
  | { kind: 'user'; text: string; attachments: string[] }
  | { kind: 'text'; text: string }
  | ToolEntry
  | QuestionEntry
  | { kind: 'note'; text: string; failed: boolean };

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  costUsd?: number;
}

export interface Turn {
  task_id: string;
  session_id: string;
  state: TurnState;
  entries: Entry[];
  usage: Usage | null;
  duration_ms: number | null;
  created_at: number;
}

/** Where a conversation began. */
export type ChatOrigin = 'chat' | 'terminal' | 'platform' | 'a2a' | 'inbox';

/** Whose conversations are listed. */
export type ChatSource = 'all' | 'people' | 'a2a' | 'inbox';

export interface ChatSummary {
  session_id: string;
  title: string;
  state: TurnState;
  origin: ChatOrigin;
  updated_at: number;
}

export interface Attachment {
  name: string;
  text: string;
}

export function isParked({ state }: Pick<Turn, 'state'>): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** More may happen in it. */
export function isOpen(turn: Pick<Turn, 'state'>): boolean {
  return turn.state === 'working' || isParked(turn);
}
