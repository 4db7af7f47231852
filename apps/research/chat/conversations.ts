import { ownerFilter, ownerKey, type Principal } from '@trunkline/identity';
import type { Chart } from '@trunkline/std/chart';
import { type Database, Quota, storedBytes } from '@trunkline/storage';
import { z } from 'zod';
import type { CheckedAnswer } from '../api-types.ts';
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
  charts?: Chart[];
  /** The answer after the check of its statements. */
  checked?: CheckedAnswer;
}

export interface Conversation {
  id: string;
  owner: string;
  messages: StoredMessage[];
  /** A turn that waits for the answer to its question. */
  checkpoint: unknown;
  updatedAt: number;
}

interface ConversationRow {
  id: string;
  owner: string;
  messages: string;
  checkpoint: string | null;
  updatedAt: number;
}

const CONVERSATION = 'SELECT id, owner, messages, checkpoint, updated_at AS updatedAt FROM conversations';

/** Conversations by the id that their client chose; two people may have chosen the same. */
export class ConversationStore {
  readonly #database: Database;
  readonly #quota: Quota;

  /** Bytes that each owner may keep; 0: no limit. */
  constructor(database: Database, limitBytes = 0) {
    this.#database = database;
    this.#quota = new Quota({
      limitBytes,
      usedBy: (owner) => this.#bytesOf(owner),
      advice:
        'delete conversations that you no longer need (DELETE /api/chat/ID), or ask the operator for more',
    });
  }

  /** Words for whoever would keep too much with these messages; undefined where they fit. */
  refusal(id: string, messages: readonly StoredMessage[], principal: Principal): string | undefined {
    const known = this.get(id, principal);
    const growth = bytesOf(messages) - bytesOf(known?.messages ?? []);
    return this.#quota.refusal(known?.owner ?? ownerKey(principal), Math.max(0, growth));
  }

  #bytesOf(owner: string): number {
    const own = 'owner BETWEEN ?1 AND ?2';
    return storedBytes(this.#database, 'conversations', ['messages', 'checkpoint'], own, owner);
  }

  /** Of several that somebody may see, their own. */
  get(id: string, principal: Principal): Conversation | undefined {
    const seen = ownerFilter(principal);
    const row = this.#database
      .prepare<ConversationRow>(
        `${CONVERSATION} WHERE id = ? AND ${seen.sql} ORDER BY owner = ? DESC, updated_at DESC LIMIT 1`,
      )
      .get(id, ...seen.values, ownerKey(principal));
    return row === undefined ? undefined : toConversation(row);
  }

  delete({ id, owner }: Pick<Conversation, 'id' | 'owner'>): void {
    this.#database.prepare('DELETE FROM conversations WHERE id = ? AND owner = ?').run(id, owner);
  }

  /** The newest conversations that somebody may see in which the words stand; all of theirs when there are none. */
  find(words: string, limit: number, principal: Principal): Conversation[] {
    const seen = ownerFilter(principal);
    return this.#database
      .prepare<ConversationRow>(
        `${CONVERSATION} WHERE ${seen.sql} AND EXISTS (
           SELECT 1 FROM json_each(messages) WHERE value ->> 'content' LIKE ? ESCAPE '\\')
         ORDER BY updated_at DESC LIMIT ?`,
      )
      .all(...seen.values, containing(words), limit)
      .map(toConversation);
  }

  /** Messages come from the client without the sources of earlier answers: those are kept. The owner stays. */
  save(id: string, messages: readonly StoredMessage[], checkpoint: unknown, principal: Principal): void {
    const known = this.get(id, principal);
    const before = known?.messages ?? [];
    this.#database
      .prepare(
        `INSERT INTO conversations (id, owner, messages, checkpoint, updated_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id, owner) DO UPDATE SET messages = excluded.messages, checkpoint = excluded.checkpoint, updated_at = excluded.updated_at`,
      )
      .run(
        id,
        known?.owner ?? ownerKey(principal),
        JSON.stringify(messages.map((message, index) => withSources(message, before[index]))),
        checkpoint === undefined ? null : JSON.stringify(checkpoint),
        Date.now(),
      );
  }
}

function bytesOf(messages: readonly StoredMessage[]): number {
  return Buffer.byteLength(JSON.stringify(messages));
}

function withSources(message: StoredMessage, before: StoredMessage | undefined): StoredMessage {
  const isSame = before?.role === message.role && before.content === message.content;
  if (!isSame) return message;
  const { sources, troubles, charts, checked } = before;
  return {
    ...(sources && { sources }),
    ...(troubles && { troubles }),
    ...(charts && { charts }),
    ...(checked && { checked }),
    ...message,
  };
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
