import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from 'react';
import type { StreamState } from '../api/eventStream.ts';
import { useEventStream } from './useEventStream.ts';
import { useReopened } from './useReopened.ts';

export interface Live<Event> {
  /** Opens the one stream that all parts of the page share. */
  LiveProvider(props: { children: ReactNode }): ReactNode;
  /** Hears every event while the component is shown. */
  useLiveEvents(listener: (event: Event) => void): void;
  /** Loads again after events that are wanted, and when the line is back after a loss. */
  useLiveReload(wants: (event: Event) => boolean, reload: () => void): void;
  /** How the line is. */
  useLiveState(): StreamState;
}

// Changes that come close together are loaded once.
const CALM_MS = 250;

/** What a page needs to follow one stream of events in many places. */
export function createLive<Event>(path: string, read: (data: string) => Event): Live<Event> {
  type Listener = (event: Event) => void;
  interface Line {
    listen(listener: Listener): () => void;
    state: StreamState;
  }
  const Context = createContext<Line>({ listen: () => () => undefined, state: { name: 'closed' } });

  function LiveProvider({ children }: { children: ReactNode }) {
    const listeners = useRef(new Set<Listener>());
    const { state } = useEventStream(path, ({ data }) => {
      const event = read(data);
      for (const listener of listeners.current) listener(event);
    });
    const listen = useMemo(
      () => (listener: Listener) => {
        listeners.current.add(listener);
        return () => listeners.current.delete(listener);
      },
      [],
    );
    const line = useMemo(() => ({ listen, state }), [listen, state]);
    return <Context value={line}>{children}</Context>;
  }

  function useLiveEvents(listener: Listener): void {
    const { listen } = useContext(Context);
    const latest = useLatest(listener);
    useEffect(() => listen((event) => latest.current(event)), [listen, latest]);
  }

  function useLiveReload(wants: (event: Event) => boolean, reload: () => void): void {
    const latest = useLatest(reload);
    const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
    useLiveEvents((event) => {
      if (timer.current !== undefined || !wants(event)) return;
      timer.current = setTimeout(() => {
        timer.current = undefined;
        latest.current();
      }, CALM_MS);
    });
    useEffect(
      () => () => {
        clearTimeout(timer.current);
        timer.current = undefined;
      },
      [],
    );
    useReopened(useContext(Context).state, reload);
  }

  return { LiveProvider, useLiveEvents, useLiveReload, useLiveState: () => useContext(Context).state };
}

function useLatest<Value>(value: Value) {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}
