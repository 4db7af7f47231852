import { Badge, EmptyState, PagedItems, RelativeTime, usePages } from '@trunkline/ui';
import { useLive } from '../../app/live.ts';
import { useWholeList } from '../../app/useWholeList.ts';
import { type Delivery, STATES, type TaskEvent, type TaskPart } from './wire.ts';

/** Everything that happened to a task, in its order. */
export function EventLog({ id }: { id: string }) {
  const path = `/api/tasks/${encodeURIComponent(id)}/events`;
  const list = usePages<TaskEvent, { events: TaskEvent[]; next: number | null }>({
    key: path,
    path: (cursor) => `${path}?limit=100&after=${cursor ?? 0}`,
    read: ({ events, next }) => ({ items: events, next }),
  });
  useLive(['tasks'], list.reload);
  return (
    <PagedItems
      list={list}
      failed="The events could not be loaded."
      empty={<EmptyState title="Nothing yet" next="Events show here as they happen." />}
    >
      {(events) => (
        <ol className="flex flex-col font-mono text-12">
          {events.map((event) => (
            <li
              key={event.sequence}
              className="flex gap-3 border-line border-b py-1.5 [contain-intrinsic-size:auto_2rem] [content-visibility:auto] last:border-b-0"
            >
              <span className="w-8 shrink-0 text-right text-muted">{event.sequence}</span>
              <span className="min-w-0 flex-1 break-words whitespace-pre-wrap">{eventText(event)}</span>
            </li>
          ))}
        </ol>
      )}
    </PagedItems>
  );
}

function eventText(event: TaskEvent): string {
  if (event.type === 'status')
    return [event.state, partsText(event.message?.parts)].filter(Boolean).join(': ');
  if (event.type === 'message') return `message: ${partsText(event.message.parts)}`;
  const { artifactId, name, parts } = event.artifact;
  const [first] = parts;
  const data = first?.type === 'data' ? first.data : '';
  return `${name ?? artifactId}: ${partsText(parts) || JSON.stringify(data)}`;
}

function partsText(parts: readonly TaskPart[] = []): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** Each attempt to tell a webhook of a task. */
export function Deliveries({ id }: { id: string }) {
  const path = `/api/tasks/${encodeURIComponent(id)}/deliveries`;
  const list = useWholeList<Delivery>(path, 'deliveries', ['tasks']);
  return (
    <PagedItems
      list={list}
      failed="The deliveries could not be loaded."
      empty={
        <EmptyState
          title="No webhook was told"
          next="Register one with tasks/pushNotificationConfig/set; each attempt shows here."
        />
      }
    >
      {(deliveries) => (
        <ol className="flex flex-col text-12">
          {deliveries.map((delivery) => (
            <li
              key={`${delivery.configId} ${delivery.at}`}
              className="border-line border-b py-2 last:border-b-0"
            >
              <p className="flex flex-wrap items-center gap-2">
                <Badge tone={delivery.outcome === 'delivered' ? 'live' : 'failed'}>{delivery.outcome}</Badge>
                <span>{STATES[delivery.state].word}</span>
                <span className="text-muted">attempt {delivery.attempt}</span>
                {delivery.status !== undefined && <span className="font-mono">{delivery.status}</span>}
                <RelativeTime at={delivery.at} />
              </p>
              {delivery.reason && <p className="text-muted">{delivery.reason}</p>}
            </li>
          ))}
        </ol>
      )}
    </PagedItems>
  );
}
