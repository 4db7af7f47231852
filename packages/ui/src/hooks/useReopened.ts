import { useEffect, useRef } from 'react';
import type { StreamState } from '../api/eventStream.ts';

/** Calls when a stream is open again after it was not: what happened in between has to be asked for. */
export function useReopened({ name }: StreamState, onReopened: () => void): void {
  const wasLost = useRef(false);
  const latest = useRef(onReopened);
  useEffect(() => {
    latest.current = onReopened;
  });
  useEffect(() => {
    if (name === 'waiting' || name === 'closed') wasLost.current = true;
    if (name !== 'open' || !wasLost.current) return;
    wasLost.current = false;
    latest.current();
  }, [name]);
}
