import { type ApiError, useResource } from '@trunkline/ui';
import { useMemo } from 'react';
import type { JobSnapshot } from '../../api-types.ts';

/** A piece of past work, of either kind. */
export type WorkItem =
  | { kind: 'research'; id: string; title: string; at: string; job: JobSnapshot }
  | { kind: 'chat'; id: string; title: string; at: string; messages: number };

interface ConversationEntry {
  id: string;
  title: string;
  messages: number;
  updatedAt: string;
}

export interface Work {
  items: WorkItem[];
  isLoading: boolean;
  error: ApiError | undefined;
}

const REFRESH_MS = 5_000;

/** Research and conversations that have the words, the newest first. */
export function useWork(words: string, limit: number): Work {
  const query = new URLSearchParams({ q: words, limit: String(limit) }).toString();
  const options = { refreshMs: REFRESH_MS };
  const research = useResource<{ jobs: JobSnapshot[] }>(`/api/research?${query}`, options);
  const chats = useResource<{ conversations: ConversationEntry[] }>(`/api/chat?${query}`, options);
  const items = useMemo(
    () => merge(research.body?.jobs ?? [], chats.body?.conversations ?? []).slice(0, limit),
    [research.body, chats.body, limit],
  );
  return {
    items,
    isLoading: research.body === undefined || chats.body === undefined,
    error: research.error ?? chats.error,
  };
}

function merge(jobs: readonly JobSnapshot[], conversations: readonly ConversationEntry[]): WorkItem[] {
  const items: WorkItem[] = [
    ...jobs.map((job) => ({
      kind: 'research' as const,
      id: job.researchId,
      title: job.query,
      at: job.createdAt,
      job,
    })),
    ...conversations.map(({ id, title, messages, updatedAt }) => ({
      kind: 'chat' as const,
      id,
      title,
      at: updatedAt,
      messages,
    })),
  ];
  return items.sort((left, right) => Date.parse(right.at) - Date.parse(left.at));
}
