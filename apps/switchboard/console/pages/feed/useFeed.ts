import { type PagedList, usePages } from '@trunkline/ui';
import { useMemo, useState } from 'react';
import type { Answer, BusMessage } from '../../../api-types.ts';
import { useBus, useReloadOn } from '../../shared/live.ts';
import { fitsPattern } from '../../shared/topics.ts';
import { usePieces } from '../../shared/useList.ts';

export interface FeedQuery {
  /** A pattern; empty for all topics. */
  topic: string;
  correlationId: string;
}

interface Feed {
  list: PagedList<BusMessage>;
  paused: boolean;
  /** How many have come since the feed was paused. */
  held: number;
  /** Holds back what comes, or lets it in. */
  pause(on: boolean): void;
}

interface History {
  messages: { message: BusMessage }[];
  /** Where the page before this one ends; null when there is none. */
  earlier: number | null;
}

const MOST_FRESH = 1000;
const PAGE = 500;

/** The messages that fit, the newest first: those of the journal, and those that come. */
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
  // Only what was missed while the line was lost is loaded again; all else comes over it.
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
