import type { Database } from '@trunkline/storage';
import { z } from 'zod';
import { containing } from '../store/jobs.ts';
import type { NumberedResult } from './tools.ts';

const message = z.object({ role: z.enum(['user', 'assistant']), content: z.string().max(200_000) });

/** A conversation whose last message is the user's. */
export const chatSchema = z.object({
  messages: z
    .array(message)
    .min(1)
    .max(500)
    .refine(
      (messages) => messages.at(-1)?.role === 'user' && messages.at(-1)?.content.trim() !== '',
      "The last message must be the user's and not empty.",
    ),
  id: z.string().min(1).max(200).optional(),
});

/** A message as it is kept: an answer with what its searches found. */
export interface StoredMessage extends ChatMessage {
  sources?: NumberedResult[];
  /** Which services could not be asked, in words. */
  troubles?: string[];
}

export interface Conversation {
  id: string;
  messages: StoredMessage[];
  /** A turn that waits for the answer to its question. */
  checkpoint: unknown;
  updatedAt: number;
}

interface ConversationRow {
  id: string;
  messages: string;
  checkpoint: string | null;
  updatedAt: number;
}

const CONVERSATION = 'SELECT id, messages, checkpoint, updated_at AS updatedAt FROM conversations';

/** Conversations by the id that their client chose. */
export class ConversationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(id: string): Conversation | undefined {
    const row = this.#database.prepare<ConversationRow>(`${CONVERSATION} WHERE id = ?`).get(id);
    return row === undefined ? undefined : toConversation(row);
  }

  /** The newest conversations in which the words stand; all when there are none. */
  find(words: string, limit: number): Conversation[] {
    return this.#database
      .prepare<ConversationRow>(
        `${CONVERSATION} WHERE EXISTS (
           SELECT 1 FROM json_each(messages) WHERE value ->> 'content' LIKE ? ESCAPE '\\')
         ORDER BY updated_at DESC LIMIT ?`,
      )
      .all(containing(words), limit)
      .map(toConversation);
  }

  /** Messages come from the client without the sources of earlier answers: those are kept. */
  save(id: string, messages: readonly StoredMessage[], checkpoint: unknown): void {
    const before = this.get(id)?.messages ?? [];
    this.#database
      .prepare(
        `INSERT INTO conversations (id, messages, checkpoint, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET messages = excluded.messages, checkpoint = excluded.checkpoint, updated_at = excluded.updated_at`,
      )
      .run(
        id,
        JSON.stringify(messages.map((message, index) => withSources(message, before[index]))),
        checkpoint === undefined ? null : JSON.stringify(checkpoint),
        Date.now(),
      );
  }
}

function withSources(message: StoredMessage, before: StoredMessage | undefined): StoredMessage {
  const isSame = before?.role === message.role && before.content === message.content;
  if (!isSame) return message;
  const { sources, troubles } = before;
  return { ...(sources && { sources }), ...(troubles && { troubles }), ...message };
}

function toConversation(row: ConversationRow): Conversation {
  return {
    ...row,
    messages: JSON.parse(row.messages) as StoredMessage[],
    checkpoint: row.checkpoint === null ? undefined : JSON.parse(row.checkpoint),
  };
}

export type ChatRequest = z.output<typeof chatSchema>;

export type ChatMessage = ChatRequest['messages'][number];
