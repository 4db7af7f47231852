import { CodeView, hashRoute, type PagedList, RelativeTime, usePages } from '@trunkline/ui';
import { ChevronRight, type LucideIcon, Radio } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import type { Answer, BusMessage } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { useBus, useReloadOn } from '../../shared/live.ts';
import { fitsPattern } from '../../shared/topics.ts';
import { usePieces } from '../../shared/useList.ts';

const MOST_FRESH = 1000;

const PAGE = 500;

interface MessageListProps {
  title: string;
  hideTitle?: boolean;
  detail?: string;
  what?: string;
  list: PagedList<BusMessage>;
  icon?: LucideIcon;
  empty: readonly [title: string, next: string];
  actions?: ReactNode;
}

export function MessageList({ what = 'the messages', icon = Radio, ...props }: MessageListProps) {
  return (
    <List {...props} what={what} icon={icon}>
      {(message) => <MessageRow message={message} />}
    </List>
  );
}

export function MessageRow({ message }: { message: BusMessage }) {
  const [open, setOpen] = useState(false);
  return (
    <li className="animate-appear border-line border-b [contain-intrinsic-size:auto_3rem] [content-visibility:auto] last:border-b-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex w-full cursor-pointer items-center gap-3 px-4 py-2 text-left hover:bg-hover focus-visible:-outline-offset-2"
      >
        <ChevronRight
          aria-hidden
          className={`size-4 shrink-0 text-muted transition-transform ${open ? 'rotate-90' : ''}`}
        />
        <span className="min-w-0 flex-1 sm:flex sm:items-baseline sm:gap-3">
          <span className="block shrink-0 truncate font-mono text-12 sm:max-w-[60%]">{message.topic}</span>
          <span className="block min-w-0 truncate text-12 text-muted">{glanceAt(message.payload)}</span>
        </span>
        <span className="shrink-0 text-12 text-muted">
          <RelativeTime at={message.timestamp} />
        </span>
      </button>
      {open && <Whole message={message} />}
    </li>
  );
}

function Whole({ message }: { message: BusMessage }) {
  const { payload, correlationId } = message;
  const link = 'text-accent-text underline underline-offset-2';
  return (
    <div className="flex flex-col gap-2 px-4 pt-1 pb-4 sm:pl-11">
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-12">
        <a className={link} href={hashRoute('feed', '#', correlationId)}>
          All of this correlation
        </a>
        <a className={link} href={hashRoute('feed', message.topic)}>
          Only this topic
        </a>
        <a className={link} href={hashRoute('flows', `skill-${correlationId}`)}>
          Its flow
        </a>
      </p>
      <CodeView code={JSON.stringify({ ...message, payload }, null, 2)} title={message.topic} wrap />
    </div>
  );
}

function glanceAt(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null) return String(payload ?? '');
  const fields = payload as Record<string, unknown>;
  const words = [fields.content, fields.question, fields.why, fields.error, fields.text].find(
    (field) => typeof field === 'string' && field !== '',
  );
  return typeof words === 'string' ? words : JSON.stringify(payload).slice(0, 200);
}

interface FeedQuery {
  /** A pattern; empty for all topics. */
  topic: string;
  correlationId: string;
}

interface Feed {
  list: PagedList<BusMessage>;
  paused: boolean;
  held: number;
  pause(on: boolean): void;
}

interface History {
  messages: { message: BusMessage }[];
  /** Cursor of the page before; null when there is none. */
  earlier: number | null;
}

/** Journalled and live messages that match, the newest first. */
export function useFeed({ topic, correlationId }: FeedQuery): Feed {
  const query = new URLSearchParams({
    limit: String(PAGE),
    ...(topic !== '' && { topic }),
    ...(correlationId !== '' && { correlationId }),
  });
  const [fresh, setFresh] = useState<readonly BusMessage[]>([]);
  const [held, setHeld] = useState<readonly BusMessage[]>([]);
  const [paused, setPaused] = useState(false);
  useBus((message) => {
    const add = (before: readonly BusMessage[]) => [message, ...before].slice(0, MOST_FRESH);
    if (paused) setHeld(add);
    else setFresh(add);
  });
  const pause = (on: boolean) => {
    setPaused(on);
    setFresh([...held, ...fresh].slice(0, MOST_FRESH));
    setHeld([]);
  };
  const stored = usePages<BusMessage, Answer<History>>({
    key: query.toString(),
    path: (cursor) => `/api/bus/history?${query}${cursor === undefined ? '' : `&before=${cursor}`}`,
    read: ({ data }) => ({
      items: data.messages.map(({ message }) => message).toReversed(),
      next: data.earlier,
    }),
  });
  // Reloads only what was missed while disconnected.
  useReloadOn([], stored.reload);
  const items = useMemo(() => {
    const fits = (message: BusMessage) =>
      (topic === '' || fitsPattern(topic, message.topic)) &&
      (correlationId === '' || message.correlationId === correlationId);
    return stored.items && merged(fresh.filter(fits), stored.items);
  }, [stored.items, fresh, topic, correlationId]);
  return { list: usePieces({ ...stored, items }), paused, held: held.length, pause };
}

function merged(fresh: readonly BusMessage[], stored: readonly BusMessage[]): BusMessage[] {
  const known = new Set(fresh.map(({ id }) => id));
  const all = [...fresh, ...stored.filter(({ id }) => !known.has(id))];
  return all.sort((one, other) => other.timestamp - one.timestamp);
}
