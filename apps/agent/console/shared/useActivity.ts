import { type PagedList, type StreamState, useEventStream, usePages, useReopened } from '@trunkline/ui';
import { useMemo, useState } from 'react';
import type { FeedEvent } from '../../activity/activity-feed.ts';

interface Activity {
  /** The newest first. */
  list: PagedList<FeedEvent>;
  /** How many came since the page was opened. */
  fresh: number;
  stream: StreamState;
}

const maxFresh = 500;

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
