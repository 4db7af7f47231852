import { suggestions } from '@trunkline/std';
import {
  Badge,
  CopyButton,
  EmptyState,
  FoldedText,
  PagedItems,
  type PagedList,
  RelativeTime,
  type StreamState,
  useEventStream,
  usePages,
  useReopened,
} from '@trunkline/ui';
import { Activity as ActivityIcon, AlarmClock, Bot, Inbox } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { FeedEvent } from '../../activity/activity-feed.ts';

const maxFresh = 500;

interface ActivityListProps {
  activity: ReturnType<typeof useActivity>;
  /** Only these are shown. */
  filter?: (event: FeedEvent) => boolean;
}

/** The feed: turns that schedules and urgent messages began, and what came into the inbox. */
export function ActivityList({ activity, filter = () => true }: ActivityListProps) {
  return (
    <PagedItems
      list={activity.list}
      failed="The activity could not be loaded."
      empty={
        <EmptyState
          icon={<ActivityIcon aria-hidden />}
          title="Nothing has run on its own yet"
          next={`Schedules that run and messages to the inbox show here. Say in the chat: "${suggestions.reminder}".`}
        />
      }
    >
      {(events) => (
        <ul aria-label="Activity" className="flex flex-col">
          {events.filter(filter).map((event) => (
            <Row key={`${event.id} ${event.at}`} event={event} />
          ))}
        </ul>
      )}
    </PagedItems>
  );
}

function Row({ event }: { event: FeedEvent }) {
  const { at, data } = event;
  const answer = 'role' in data && data.role === 'assistant';
  return (
    <li className="flex animate-appear gap-3 border-line border-b py-3 [contain-intrinsic-size:auto_4rem] [content-visibility:auto] last:border-b-0">
      <span className="mt-0.5 text-muted [&_svg]:size-4">{iconOf(event)}</span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
          <Badge tone={event.event === 'inbox.item' ? 'accent' : answer ? 'live' : 'plain'}>
            {wordOf(event)}
          </Badge>
          {data.priority === 'now' && <Badge>Urgent</Badge>}
          <Cause event={event} />
          <RelativeTime at={at} />
        </p>
        <FoldedText className="mt-1" text={data.text} />
      </div>
    </li>
  );
}

/** What started it: a sender by name, a schedule by its id behind a copy button. */
function Cause({ event: { data } }: { event: FeedEvent }) {
  if (!('trigger' in data)) return data.source ? <span>From {data.source}</span> : null;
  if (data.origin === 'inbox') return <span>Started by the inbox</span>;
  return data.trigger && <CopyButton value={data.trigger} label="Copy the schedule's id" />;
}

function wordOf({ event, data }: FeedEvent): string {
  if (event === 'inbox.item') return 'Inbox';
  const { role, origin } = data;
  if (role === 'assistant') return 'Answer';
  return origin === 'scheduler' ? 'Schedule ran' : 'Started';
}

function iconOf({ event, data }: FeedEvent) {
  if (event === 'inbox.item') return <Inbox aria-hidden />;
  const { role, origin } = data;
  if (role === 'assistant') return <Bot aria-hidden />;
  return origin === 'scheduler' ? <AlarmClock aria-hidden /> : <ActivityIcon aria-hidden />;
}

interface Activity {
  /** The newest first. */
  list: PagedList<FeedEvent>;
  /** How many came since the page was opened. */
  fresh: number;
  stream: StreamState;
}

/** Recent activity, live. */
export function useActivity(): Activity {
  const [fresh, setFresh] = useState<readonly FeedEvent[]>([]);
  const { state } = useEventStream('/api/events', ({ id, event, data }) => {
    const received = { id: Number(id), at: new Date().toISOString(), event, data: JSON.parse(data) };
    setFresh((before) => [received as FeedEvent, ...before].slice(0, maxFresh));
  });
  const older = usePages<FeedEvent, { events: FeedEvent[]; next: number | null }>({
    key: 'activity',
    path: (cursor) => `/api/activity?limit=50${cursor === undefined ? '' : `&before=${cursor}`}`,
    read: ({ events, next }) => ({ items: events, next }),
  });
  useReopened(state, older.reload);
  const items = useMemo(() => older.items && merged(fresh, older.items), [fresh, older.items]);
  return { list: { ...older, items }, fresh: fresh.length, stream: state };
}

function merged(fresh: readonly FeedEvent[], older: readonly FeedEvent[]): FeedEvent[] {
  const known = new Set(older.map(({ id }) => id));
  return [...fresh.filter(({ id }) => !known.has(id)), ...older];
}
