import { useCallback, useEffect, useRef, useState } from 'react';
import { useApi } from '../api/ApiProvider.tsx';
import type { ApiRequest } from '../api/api.ts';
import { type ApiError, asApiError } from '../api/apiError.ts';

export interface Resource<Body> {
  /** The last answer; stays when a later request fails. */
  body: Body | undefined;
  /** Why the last request failed; none when it did not. */
  error: ApiError | undefined;
  loading: boolean;
  /** When the last answer came. */
  loadedAt: number | undefined;
  reload(): void;
}

interface ResourceOptions extends Pick<ApiRequest, 'accept'> {
  /** Asks again after this time, while the page is in view. */
  refreshMs?: number;
}

/** Something the service holds, loaded when shown, and again as often as asked. */
export function useResource<Body>(path: string, options: ResourceOptions = {}): Resource<Body> {
  const api = useApi();
  const { refreshMs, accept } = options;
  const [snapshot, setSnapshot] = useState<Omit<Resource<Body>, 'reload'>>(NOT_LOADED);
  const [round, setRound] = useState(0);
  const accepted = useRef(accept);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round loads again
  useEffect(() => {
    const leaving = new AbortController();
    setSnapshot((before) => ({ ...before, loading: true }));
    const request: ApiRequest = {
      signal: leaving.signal,
      ...(accepted.current && { accept: accepted.current }),
    };
    void api
      .request<Body>(path, request)
      .then((body) => ({ body, error: undefined, loading: false, loadedAt: Date.now() }))
      .catch((error: unknown) => ({ error: asApiError(error), loading: false }))
      .then((change) => {
        if (!leaving.signal.aborted) setSnapshot((before) => ({ ...before, ...change }));
      });
    return () => leaving.abort();
  }, [api, path, round]);

  const reload = useCallback(() => setRound((count) => count + 1), []);
  useRefresh(reload, refreshMs, snapshot.loading);
  return { ...snapshot, reload };
}

const NOT_LOADED = { body: undefined, error: undefined, loading: true, loadedAt: undefined };

// A page out of view does not ask; back in view it asks at once.
function useRefresh(reload: () => void, refreshMs: number | undefined, loading: boolean): void {
  useEffect(() => {
    if (refreshMs === undefined || loading) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), refreshMs);
    const onVisible = () => document.visibilityState === 'visible' && reload();
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [reload, refreshMs, loading]);
}
