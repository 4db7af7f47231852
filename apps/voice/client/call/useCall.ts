import { useApi } from '@trunkline/ui';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Call, type CallSettings, type CallState } from './call.ts';

/** The page's one call. */
export function useCall(settings: CallSettings): { call: Call; state: CallState } {
  const api = useApi();
  const [call] = useState(() => new Call(api, settings));
  const state = useSyncExternalStore(call.subscribe, call.state);
  useEffect(() => void call.apply(settings), [call, settings]);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    window.addEventListener('pagehide', () => call.hangUp(), { signal });
    window.addEventListener('offline', () => call.dropped(), { signal });
    window.addEventListener('online', () => call.retryNow(), { signal });
    return () => leaving.abort();
  }, [call]);
  return { call, state };
}
