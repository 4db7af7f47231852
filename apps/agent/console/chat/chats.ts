import { hashRoute, type PagedList, readStored, usePages, writeStored } from '@trunkline/ui';
import { useState } from 'react';
import { useLive } from '../app/live.ts';
import type { ChatSource, ChatSummary } from './wire.ts';

/** Conversations of a source, the newest first, filtered by their first words. */
export function useChats(search: string, from: ChatSource): PagedList<ChatSummary> {
  const query = `limit=30&from=${from}&q=${encodeURIComponent(search)}`;
  const list = usePages<ChatSummary, { sessions: ChatSummary[]; next: string | null }>({
    key: query,
    path: (cursor) =>
      `/api/chat/sessions?${query}${cursor === undefined ? '' : `&before=${encodeURIComponent(cursor)}`}`,
    read: ({ sessions, next }) => ({ items: sessions, next }),
  });
  // Others begin conversations too.
  useLive(['tasks'], list.reload);
  return list;
}

export const SOURCES: readonly { value: ChatSource; label: string }[] = [
  { value: 'all', label: 'Anyone' },
  { value: 'people', label: 'People' },
  { value: 'a2a', label: 'Agents and programs' },
  { value: 'inbox', label: 'The inbox' },
];

const KEPT = 'trunkline.agent.chats-from';

/** Whose conversations are shown; the choice outlasts the page. */
export function useSource(): [ChatSource, (from: ChatSource) => void] {
  const [from, setFrom] = useState(
    () => SOURCES.find(({ value }) => value === readStored(KEPT))?.value ?? 'all',
  );
  const choose = (chosen: ChatSource) => {
    writeStored(KEPT, chosen);
    setFrom(chosen);
  };
  return [from, choose];
}

export function chatAddress(sessionId: string): string {
  return hashRoute('chat', sessionId);
}

/** An id for a new conversation; pages on plain HTTP have no randomUUID. */
export function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
