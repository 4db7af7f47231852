import { type PagedList, type StreamState, useEventStream, usePages, useReopened } from '@trunkline/ui';
import { useMemo, useState } from 'react';

/** Something that the agent did of itself, or that came into its inbox. */
export interface ActivityEvent {
  id: number;
  at: string;
  event: 'activity.message' | 'inbox.item';
  data: {
    text: string;
    role?: 'user' | 'assistant';
    /** What started it: "scheduler", "inbox". */
    origin?: string;
    trigger?: string | null;
    priority?: string | null;
    source?: string | null;
    context_id?: string;
  };
}

interface Activity {
  /** The newest first. */
  list: PagedList<ActivityEvent>;
  /** How many came since the page was opened. */
  fresh: number;
  stream: StreamState;
}

const maxFresh = 500;

/** Recent activity, live. */
export function useActivity(): Activity {
  const [fresh, setFresh] = useState<readonly ActivityEvent[]>([]);
  const { state } = useEventStream('/api/events', ({ id, event, data }) => {
    const received = { id: Number(id), at: new Date().toISOString(), event, data: JSON.parse(data) };
    setFresh((before) => [received as ActivityEvent, ...before].slice(0, maxFresh));
  });
  const older = usePages<ActivityEvent, { events: ActivityEvent[]; next: number | null }>({
    key: 'activity',
    path: (cursor) => `/api/activity?limit=50${cursor === undefined ? '' : `&before=${cursor}`}`,
    read: ({ events, next }) => ({ items: events, next }),
  });
  useReopened(state, older.reload);
  const items = useMemo(() => older.items && merged(fresh, older.items), [fresh, older.items]);
  return { list: { ...older, items }, fresh: fresh.length, stream: state };
}

function merged(fresh: readonly ActivityEvent[], older: readonly ActivityEvent[]): ActivityEvent[] {
  const known = new Set(older.map(({ id }) => id));
  return [...fresh.filter(({ id }) => !known.has(id)), ...older];
}
