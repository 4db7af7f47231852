import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { useApi } from '../api/ApiProvider.tsx';
import { type EventStream, openEventStream, type StreamEvent, type StreamState } from '../api/eventStream.ts';
import { useLatest, useReopened } from './useResource.ts';

const HIDDEN_LIMIT_MS = 20_000;

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

export interface EventStreamHook {
  state: StreamState;
  /** Connects at once instead of after the pause, or again after a refusal. */
  reconnect(): void;
}

/** Follows a stream of server-sent events while the component is shown and the page in view; null follows none. */
export function useEventStream(path: string | null, onEvent: (event: StreamEvent) => void): EventStreamHook {
  const api = useApi();
  const inView = useInView();
  const [state, setState] = useState<StreamState>(
    path === null ? { name: 'closed' } : { name: 'connecting' },
  );
  const [round, setRound] = useState(0);
  const stream = useRef<EventStream | null>(null);
  const listener = useLatest(onEvent);
  const lastEvent = useRef<{ path: string | null; id: string }>({ path, id: '' });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round opens the stream again
  useEffect(() => {
    if (path === null || !inView) return;
    const opened = openEventStream({
      url: path,
      headers: api.keyHeaders,
      lastEventId: lastEvent.current.path === path ? lastEvent.current.id : '',
      onEvent(event) {
        lastEvent.current = { path, id: event.id };
        listener.current(event);
      },
      onState: setState,
    });
    stream.current = opened;
    const onOnline = () => opened.reconnect();
    window.addEventListener('online', onOnline);
    return () => {
      window.removeEventListener('online', onOnline);
      opened.close();
    };
  }, [path, api, round, inView]);

  useKeyForRefused(state, () => setRound((count) => count + 1));

  return {
    state,
    reconnect() {
      if (state.name === 'waiting') stream.current?.reconnect();
      else setRound((count) => count + 1);
    },
  };
}

// A browser opens six connections to a service at most, for all its tabs: one long out of view gives its streams back.
function useInView(): boolean {
  const [inView, setInView] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'visible') setInView(true);
      else timer = setTimeout(() => setInView(false), HIDDEN_LIMIT_MS);
    };
    document.addEventListener('visibilitychange', onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onChange);
    };
  }, []);
  return inView;
}

// A stream that wants a key asks for it as any request does, then opens again.
function useKeyForRefused(state: StreamState, reopen: () => void): void {
  const api = useApi();
  const latest = useLatest(reopen);
  const refused = state.name === 'refused' && state.error.status === 401;
  useEffect(() => {
    if (!refused) return;
    const hadKey = Object.keys(api.keyHeaders()).length > 0;
    void api.askKey(hadKey).then((key) => {
      if (key !== null) latest.current();
    });
  }, [refused, api, latest]);
}
