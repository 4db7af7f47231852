import { Badge, EmptyState, PagedItems, RelativeTime } from '@trunkline/ui';
import { Activity as ActivityIcon, AlarmClock, Bot, Inbox } from 'lucide-react';
import type { ActivityEvent, useActivity } from './useActivity.ts';

interface ActivityListProps {
  activity: ReturnType<typeof useActivity>;
  /** Only these are shown. */
  filter?: (event: ActivityEvent) => boolean;
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

function Row({ event: { at, event, data } }: { event: ActivityEvent }) {
  const answer = data.role === 'assistant';
  return (
    <li className="flex animate-appear gap-3 border-line border-b py-3 [contain-intrinsic-size:auto_4rem] [content-visibility:auto] last:border-b-0">
      <span className="mt-0.5 text-muted [&_svg]:size-4">{iconOf(event, data)}</span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
          <Badge tone={event === 'inbox.item' ? 'accent' : answer ? 'live' : 'plain'}>
            {wordOf(event, data)}
          </Badge>
          {data.priority && <Badge>{data.priority}</Badge>}
          <RelativeTime at={at} />
        </p>
        <p className="mt-1 whitespace-pre-wrap break-words">{data.text}</p>
        {(data.trigger ?? data.source) && (
          <p className="truncate font-mono text-12 text-muted">{data.trigger ?? data.source}</p>
        )}
      </div>
    </li>
  );
}

function wordOf(event: ActivityEvent['event'], { role, origin }: ActivityEvent['data']): string {
  if (event === 'inbox.item') return 'Inbox';
  if (role === 'assistant') return 'Answer';
  return origin === 'scheduler' ? 'Schedule fired' : 'Turn began';
}

function iconOf(event: ActivityEvent['event'], { role, origin }: ActivityEvent['data']) {
  if (event === 'inbox.item') return <Inbox aria-hidden />;
  if (role === 'assistant') return <Bot aria-hidden />;
  return origin === 'scheduler' ? <AlarmClock aria-hidden /> : <ActivityIcon aria-hidden />;
}
