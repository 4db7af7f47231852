import { type ApiError, IconButton, Line, RelativeTime, useResource } from '@trunkline/ui';
import { MessageSquareText, RotateCcw, Telescope } from 'lucide-react';
import { useMemo } from 'react';
import type { JobSnapshot } from '../../api-types.ts';
import { judgesText } from '../../citations/marks.ts';
import { useRunAgain } from '../lib/actions.ts';
import { costWords, plural } from '../lib/format.ts';
import { hrefOf } from '../lib/route.ts';
import { lampOf } from '../research/JobHeader.tsx';

const REFRESH_MS = 5_000;

/** Past work as lines that open it; what runs is lit. */
export function WorkList({ items }: { items: readonly WorkItem[] }) {
  return (
    <ul className="overflow-hidden rounded-corner border border-line bg-raised">
      {items.map((item) => (
        <Line
          key={`${item.kind}-${item.id}`}
          lead={item.kind === 'research' ? <Telescope aria-hidden /> : <MessageSquareText aria-hidden />}
          title={item.title}
          detail={
            item.kind === 'research' ? jobWords(item.job) : `Search, ${plural(item.messages, 'message')}`
          }
          lit={item.kind === 'research' && item.job.status === 'running' && item.job.awaiting === undefined}
          href={hrefOf({ name: item.kind, id: item.id })}
          trail={<Trail item={item} />}
        />
      ))}
    </ul>
  );
}

function Trail({ item }: { item: WorkItem }) {
  const { busy, runAgain } = useRunAgain();
  const isDone = item.kind === 'research' && item.job.status !== 'running';
  return (
    <>
      <RelativeTime at={item.at} />
      {isDone && (
        <IconButton
          small
          label="Run again"
          icon={<RotateCcw aria-hidden />}
          disabled={busy}
          onClick={() => runAgain(item.id)}
        />
      )}
    </>
  );
}

function jobWords(job: JobSnapshot): string {
  const { citations, sourceCount, costUsd } = job;
  return [
    lampOf(job).word,
    sourceCount > 0 ? plural(sourceCount, 'source') : '',
    citations ? `${citations.supported} of ${citations.total} citations supported` : '',
    citations ? judgesText(citations) : '',
    costUsd !== null && costUsd > 0 ? costWords(costUsd) : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

/** A piece of past work, of either kind. */
type WorkItem =
  | { kind: 'research'; id: string; title: string; at: string; job: JobSnapshot }
  | { kind: 'chat'; id: string; title: string; at: string; messages: number };

interface ConversationEntry {
  id: string;
  title: string;
  messages: number;
  updatedAt: string;
}

interface Work {
  items: WorkItem[];
  isLoading: boolean;
  error: ApiError | undefined;
}

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
