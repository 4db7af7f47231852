import {
  type ApiError,
  buttonClass,
  EmptyState,
  ErrorState,
  IconButton,
  Line,
  RelativeTime,
  Skeleton,
  useResource,
} from '@trunkline/ui';
import { LibraryBig, MessageSquareText, RotateCcw, Search, Telescope, Trash2 } from 'lucide-react';
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import type { JobSnapshot } from '../../api-types.ts';
import { judgesText } from '../../citations/marks.ts';
import { useRunAgain } from '../lib/actions.ts';
import { costWords, plural } from '../lib/format.ts';
import { hrefOf } from '../lib/route.ts';
import { PageFrame } from '../PageFrame.tsx';
import { lampOf } from '../research/JobHeader.tsx';
import { DeleteDialog } from './DeleteDialog.tsx';

const SHOWN = 100;

/** All past work, found by its words. */
export function LibraryPage() {
  const [words, setWords] = useState('');
  const wanted = useDeferredValue(words.trim());
  const { items, isLoading, error, reload } = useWork(wanted, SHOWN);
  return (
    <PageFrame
      title="Library"
      detail="All you asked and had researched. Open a piece to read it, ask about it, or run it again."
    >
      <div className="flex items-center gap-3 rounded-corner border border-edge bg-raised px-3 focus-within:border-accent-strong">
        <Search aria-hidden className="size-4 text-muted" />
        <input
          type="search"
          aria-label="Search the library"
          value={words}
          maxLength={200}
          placeholder="Find a question or report"
          onChange={(event) => setWords(event.target.value)}
          className="h-11 min-w-0 flex-1 bg-transparent text-16 outline-none placeholder:text-muted"
        />
      </div>
      {error && (
        <ErrorState what="The library could not be loaded." why={error.message} todo={error.advice} />
      )}
      {isLoading && !error && <Skeleton rows={5} />}
      {items.length > 0 && <WorkList items={items} onChange={reload} />}
      {items.length === 0 && !isLoading && <Nothing wanted={wanted} />}
    </PageFrame>
  );
}

function Nothing({ wanted }: { wanted: string }) {
  return wanted === '' ? (
    <EmptyState
      icon={<LibraryBig aria-hidden />}
      title="Nothing here yet"
      next="What you ask and have researched is kept here."
      action={
        <a className={buttonClass({ variant: 'primary' })} href={hrefOf({ name: 'ask' })}>
          Ask something
        </a>
      }
    />
  ) : (
    <EmptyState
      icon={<Search aria-hidden />}
      title={`Nothing has “${wanted}”`}
      next="Try fewer or other words."
    />
  );
}

const REFRESH_MS = 5_000;

/** Past work as lines that open it; what runs is lit. */
export function WorkList({ items, onChange }: { items: readonly WorkItem[]; onChange(): void }) {
  const [deleting, setDeleting] = useState<WorkItem>();
  return (
    <>
      <ul className="overflow-hidden rounded-corner border border-line bg-raised">
        {items.map((item) => (
          <Line
            key={`${item.kind}-${item.id}`}
            lead={item.kind === 'research' ? <Telescope aria-hidden /> : <MessageSquareText aria-hidden />}
            title={item.title}
            detail={
              <>
                {item.kind === 'research'
                  ? jobWords(item.job)
                  : `Search, ${plural(item.messages, 'message')}`}
                {' · '}
                <span className="relative">
                  <RelativeTime at={item.at} />
                </span>
              </>
            }
            lit={item.kind === 'research' && item.job.status === 'running' && item.job.awaiting === undefined}
            href={hrefOf({ name: item.kind, id: item.id })}
            trail={<Trail item={item} onDelete={() => setDeleting(item)} />}
          />
        ))}
      </ul>
      <DeleteDialog item={deleting} onClose={() => setDeleting(undefined)} onDeleted={onChange} />
    </>
  );
}

function Trail({ item, onDelete }: { item: WorkItem; onDelete(): void }) {
  const { busy, runAgain } = useRunAgain();
  const isRunning = item.kind === 'research' && item.job.status === 'running';
  return (
    <>
      {item.kind === 'research' && !isRunning && (
        <IconButton
          small
          label="Run again"
          icon={<RotateCcw aria-hidden />}
          disabled={busy}
          onClick={() => runAgain(item.id)}
        />
      )}
      {!isRunning && <IconButton small label="Delete" icon={<Trash2 aria-hidden />} onClick={onDelete} />}
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
  reload(): void;
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
  const [reloadResearch, reloadChats] = [research.reload, chats.reload];
  const reload = useCallback(() => {
    reloadResearch();
    reloadChats();
  }, [reloadResearch, reloadChats]);
  return {
    items,
    isLoading: research.body === undefined || chats.body === undefined,
    error: research.error ?? chats.error,
    reload,
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
