import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { useApi } from '../api/ApiProvider.tsx';
import { type ApiError, type ApiRequest, asApiError } from '../api/api.ts';
import type { StreamState } from '../api/eventStream.ts';
import { type ToastContent, useToast } from '../components/Toasts.tsx';

const NOTHING = {
  key: undefined,
  items: undefined,
  next: null,
  incomplete: false,
  error: undefined,
  loading: true,
};

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

const FIRST_RETRY_MS = 3000;
const LONGEST_RETRY_MS = 30_000;
/** Pages that failed together do not ask again together. */
const RETRY_SPREAD = 0.2;

/**
 * After how long to ask again what failed so many times in a row, each time later. Undefined where nothing will have changed:
 * for a service that starts again or a network that changes nobody should have to reload the page, but a mistake stays one.
 */
export function retryDelay(
  { status, code }: Pick<ApiError, 'status' | 'code'>,
  failures: number,
  chance = Math.random(),
): number | undefined {
  const mayPass =
    (status === 0 && code !== 'UNEXPECTED') || status === 502 || status === 503 || status === 504;
  if (!mayPass) return undefined;
  const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, Math.min(failures - 1, 10)));
  return Math.round(delay * (1 + RETRY_SPREAD * chance));
}

/** Something the service holds, loaded when shown, and again as often as asked, or where the service did not answer. */
export function useResource<Body>(path: string, options: ResourceOptions = {}): Resource<Body> {
  const api = useApi();
  const { refreshMs, accept } = options;
  const [snapshot, setSnapshot] = useState<Snapshot<Body>>(NOT_LOADED);
  const [round, setRound] = useState(0);
  const accepted = useRef(accept);
  const failures = useRef(0);

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
      .then((body) => ({ body, error: undefined, loading: false, loadedAt: Date.now(), retryMs: undefined }))
      .catch((thrown: unknown) => {
        const error = asApiError(thrown);
        failures.current += 1;
        return { error, loading: false, retryMs: retryDelay(error, failures.current) };
      })
      .then((change) => {
        if (leaving.signal.aborted) return;
        if (change.error === undefined) failures.current = 0;
        setSnapshot((before) => ({
          ...before,
          // What another address answered is none of this one's.
          ...(before.path !== path && { body: undefined, loadedAt: undefined }),
          ...change,
          ...same(before, change),
          path,
        }));
      });
    return () => leaving.abort();
  }, [api, path, round]);

  const reload = useCallback(() => setRound((count) => count + 1), []);
  const { retryMs, path: _shown, ...resource } = snapshot;
  useRefresh(reload, retryMs === undefined ? refreshMs : Math.max(retryMs, refreshMs ?? 0), resource.loading);
  return { ...resource, reload };
}

interface Snapshot<Body> extends Omit<Resource<Body>, 'reload'> {
  /** The address that answered last. */
  path: string | undefined;
  /** When to ask again what failed. */
  retryMs: number | undefined;
}

/** An answer that says nothing new stays the same object, so that nothing is drawn again for it. */
function same<Body>(
  before: { body: Body | undefined },
  change: { loading: boolean; body?: Body },
): { body?: Body } {
  const isSame = change.body !== undefined && JSON.stringify(before.body) === JSON.stringify(change.body);
  return isSame && before.body !== undefined ? { body: before.body } : {};
}

const NOT_LOADED = {
  body: undefined,
  error: undefined,
  loading: true,
  loadedAt: undefined,
  path: undefined,
  retryMs: undefined,
};

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

/** Runs an action and reports the result in a toast. Resolves to whether it succeeded. */
export type Attempt = (work: () => Promise<unknown>, done?: ToastContent) => Promise<boolean>;

/** For the action of a button: a failure becomes a toast that says what to do. */
export function useAttempt(): Attempt {
  const toast = useToast();
  return useCallback(
    async (work, done) => {
      try {
        await work();
        if (done !== undefined) toast(done);
        return true;
      } catch (error) {
        const { message, advice } = asApiError(error);
        toast({ title: message, detail: advice, state: 'failed' });
        return false;
      }
    },
    [toast],
  );
}

/** Sends a request to the service and reports the result in a toast. Resolves to whether it succeeded. */
export function useSend(): (path: string, request: ApiRequest, done?: ToastContent) => Promise<boolean> {
  const api = useApi();
  const attempt = useAttempt();
  return (path, request, done) => attempt(() => api.request(path, request), done);
}

/** One page of a list, and where the next begins. */
export interface ListPage<Item> {
  items: readonly Item[];
  /** What the next page is asked for with; null when this is the last. */
  next: string | number | null;
  /** Something may be missing that others know, who did not answer. */
  incomplete?: boolean | undefined;
}

export interface PagedList<Item> {
  /** Undefined before the first page. */
  items: readonly Item[] | undefined;
  error: ApiError | undefined;
  loading: boolean;
  hasMore: boolean;
  incomplete?: boolean | undefined;
  /** Loads the next page. */
  more(): void;
  /** Loads again as many pages as are shown. */
  reload(): void;
}

interface PagesOptions<Item, Body> {
  /** The address of a page; the first has no cursor. Null while there is nothing to ask for. */
  path: ((cursor: string | number | undefined) => string) | null;
  /** Changes when the list is another one. */
  key: string;
  read(body: Body): ListPage<Item>;
}

/** A list that the service gives out page by page; stays as long as it was when it is loaded again. */
export function usePages<Item, Body>({ path, key, read }: PagesOptions<Item, Body>): PagedList<Item> {
  const api = useApi();
  const [state, setState] = useState<PagesState<Item>>(NOTHING);
  const [want, setWant] = useState({ key, pages: 1, round: 0 });
  const asked = useLatest({ path, read });
  const pages = want.key === key ? want.pages : 1;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round loads again
  useEffect(() => {
    const { path: address, read: reader } = asked.current;
    if (address === null) return;
    const leaving = new AbortController();
    setState((before) => ({ ...(before.key === key ? before : NOTHING), loading: true, key }));
    const load = (cursor: string | number | undefined) =>
      api.request<Body>(address(cursor), { signal: leaving.signal }).then(reader);
    void loadPages(load, pages)
      .then((found) => ({ ...found, error: undefined, loading: false, key }))
      .catch((error: unknown) => ({ error: asApiError(error), loading: false, key }))
      .then((change) => {
        if (!leaving.signal.aborted)
          setState((before) => ({
            ...before,
            ...change,
            ...('items' in change && { items: sameItems(before.items, change.items) }),
          }));
      });
    return () => leaving.abort();
  }, [api, key, pages, want.round]);

  const more = useCallback(
    () =>
      setWant((before) => ({ key, pages: (before.key === key ? before.pages : 1) + 1, round: before.round })),
    [key],
  );
  const reload = useCallback(() => setWant((before) => ({ ...before, round: before.round + 1 })), []);
  const shown = state.key === key ? state : NOTHING;
  const { items, error, loading, next, incomplete } = shown;
  return {
    items: items as readonly Item[] | undefined,
    error,
    loading,
    hasMore: next !== null,
    incomplete,
    more,
    reload,
  };
}

/** Items that say nothing new stay the same objects, so that a memoised row is not drawn again for them. */
function sameItems<Item>(before: readonly Item[] | undefined, found: readonly Item[]): readonly Item[] {
  const known = new Map(before?.map((item) => [JSON.stringify(item), item]));
  return found.map((item) => known.get(JSON.stringify(item)) ?? item);
}

interface PagesState<Item> {
  key: string | undefined;
  items: readonly Item[] | undefined;
  next: string | number | null;
  incomplete: boolean;
  error: ApiError | undefined;
  loading: boolean;
}

async function loadPages<Item>(
  load: (cursor: string | number | undefined) => Promise<ListPage<Item>>,
  count: number,
): Promise<{ items: Item[]; next: string | number | null; incomplete: boolean }> {
  const items: Item[] = [];
  let incomplete = false;
  let next: string | number | null = null;
  for (let page = 0; page < count; page += 1) {
    const found: ListPage<Item> = await load(next ?? undefined);
    items.push(...found.items);
    next = found.next;
    incomplete ||= found.incomplete === true;
    if (next === null) break;
  }
  return { items, next, incomplete };
}

/** Calls when a stream is open again after it was not: what happened in between has to be asked for. */
export function useReopened({ name }: StreamState, onReopened: () => void): void {
  const wasLost = useRef(false);
  const latest = useLatest(onReopened);
  useEffect(() => {
    if (name === 'waiting' || name === 'closed') wasLost.current = true;
    if (name !== 'open' || !wasLost.current) return;
    wasLost.current = false;
    latest.current();
  }, [name, latest]);
}

/** The value of the last render, for listeners that live longer than one. */
export function useLatest<Value>(value: Value): RefObject<Value> {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}
