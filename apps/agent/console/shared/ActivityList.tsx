import { Badge, EmptyState, PagedItems, RelativeTime } from '@trunkline/ui';
import { Activity as ActivityIcon, AlarmClock, Bot, Inbox } from 'lucide-react';
import type { FeedEvent } from '../../activity/activity-feed.ts';
import type { useActivity } from './useActivity.ts';

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
          title="Nothing has happened of itself yet"
          next="Schedules that fire and messages to the inbox show here. In the chat, ask for a reminder in one minute."
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
  const cause = 'trigger' in data ? data.trigger : data.source;
  const answer = 'role' in data && data.role === 'assistant';
  return (
    <li className="flex animate-appear gap-3 border-line border-b py-3 [contain-intrinsic-size:auto_4rem] [content-visibility:auto] last:border-b-0">
      <span className="mt-0.5 text-muted [&_svg]:size-4">{iconOf(event)}</span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
          <Badge tone={event.event === 'inbox.item' ? 'accent' : answer ? 'live' : 'plain'}>
            {wordOf(event)}
          </Badge>
          {data.priority && <Badge>{data.priority}</Badge>}
          <RelativeTime at={at} />
        </p>
        <p className="mt-1 whitespace-pre-wrap break-words">{data.text}</p>
        {cause && <p className="truncate font-mono text-12 text-muted">{cause}</p>}
      </div>
    </li>
  );
}

function wordOf({ event, data }: FeedEvent): string {
  if (event === 'inbox.item') return 'Inbox';
  const { role, origin } = data;
  if (role === 'assistant') return 'Answer';
  return origin === 'scheduler' ? 'Schedule fired' : 'Turn began';
}

function iconOf({ event, data }: FeedEvent) {
  if (event === 'inbox.item') return <Inbox aria-hidden />;
  const { role, origin } = data;
  if (role === 'assistant') return <Bot aria-hidden />;
  return origin === 'scheduler' ? <AlarmClock aria-hidden /> : <ActivityIcon aria-hidden />;
}
