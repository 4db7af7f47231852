import { type StreamState, useEventStream, useReopened } from '@trunkline/ui';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from 'react';

/** The parts of the console that the service tells changes of. */
export type LivePart =
  | 'tasks'
  | 'notes'
  | 'board'
  | 'goals'
  | 'memory'
  | 'schedules'
  | 'inbox'
  | 'audit'
  | 'telemetry'
  | 'config';

type Listener = (parts: readonly LivePart[]) => void;

interface Live {
  listen(listener: Listener): () => void;
  state: StreamState;
}

// Changes that come close together are loaded once.
const CALM_MS = 250;

/** Hears from the service what has changed, for all parts of the page. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const listeners = useRef(new Set<Listener>());
  const { state } = useEventStream('/api/live', ({ data }) => {
    const { parts } = JSON.parse(data) as { parts: LivePart[] };
    for (const listener of listeners.current) listener(parts);
  });
  const listen = useMemo(
    () => (listener: Listener) => {
      listeners.current.add(listener);
      return () => listeners.current.delete(listener);
    },
    [],
  );
  const live = useMemo(() => ({ listen, state }), [listen, state]);
  return <LiveContext value={live}>{children}</LiveContext>;
}

/** Loads again when the service says that one of the parts has changed, and when the line is back after a loss. */
export function useLive(parts: readonly LivePart[], reload: () => void): void {
  const { listen, state } = useContext(LiveContext);
  const latest = useRef(reload);
  useEffect(() => {
    latest.current = reload;
  });
  const wanted = parts.join(' ');
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = listen((changed) => {
      if (!changed.some((part) => wanted.split(' ').includes(part)) || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        latest.current();
      }, CALM_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [listen, wanted]);
  useReopened(state, reload);
}

/** How the line is on which changes come. */
export function useLiveState(): StreamState {
  return useContext(LiveContext).state;
}

const LiveContext = createContext<Live>({ listen: () => () => undefined, state: { name: 'closed' } });
