import { hashRoute, type PagedList, usePages } from '@trunkline/ui';
import type { ChatSummary } from './wire.ts';

/** All conversations, the newest first; only those whose first words hold the search. */
export function useChats(search: string): PagedList<ChatSummary> {
  const query = `limit=30&q=${encodeURIComponent(search)}`;
  return usePages<ChatSummary, { sessions: ChatSummary[]; next: string | null }>({
    key: query,
    path: (cursor) =>
      `/api/chat/sessions?${query}${cursor === undefined ? '' : `&before=${encodeURIComponent(cursor)}`}`,
    read: ({ sessions, next }) => ({ items: sessions, next }),
  });
}

export function chatAddress(sessionId: string): string {
  return hashRoute('chat', sessionId);
}

/** An id for a new conversation; pages on plain HTTP have no randomUUID. */
export function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
