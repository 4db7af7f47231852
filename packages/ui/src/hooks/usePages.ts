import { useCallback, useEffect, useRef, useState } from 'react';
import { useApi } from '../api/ApiProvider.tsx';
import { type ApiError, asApiError } from '../api/apiError.ts';

/** One page of a list, and where the next begins. */
export interface ListPage<Item> {
  items: readonly Item[];
  /** What the next page is asked for with; null when this is the last. */
  next: string | number | null;
}

export interface PagedList<Item> {
  /** Undefined before the first page. */
  items: readonly Item[] | undefined;
  error: ApiError | undefined;
  loading: boolean;
  hasMore: boolean;
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
  const asked = useRef({ path, read });
  useEffect(() => {
    asked.current = { path, read };
  });
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
        if (!leaving.signal.aborted) setState((before) => ({ ...before, ...change }));
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
  const { items, error, loading, next } = shown;
  return {
    items: items as readonly Item[] | undefined,
    error,
    loading,
    hasMore: next !== null,
    more,
    reload,
  };
}

interface PagesState<Item> {
  key: string | undefined;
  items: readonly Item[] | undefined;
  next: string | number | null;
  error: ApiError | undefined;
  loading: boolean;
}

const NOTHING = { key: undefined, items: undefined, next: null, error: undefined, loading: true };

async function loadPages<Item>(
  load: (cursor: string | number | undefined) => Promise<ListPage<Item>>,
  count: number,
): Promise<{ items: Item[]; next: string | number | null }> {
  const items: Item[] = [];
  let next: string | number | null = null;
  for (let page = 0; page < count; page += 1) {
    const found: ListPage<Item> = await load(next ?? undefined);
    items.push(...found.items);
    next = found.next;
    if (next === null) break;
  }
  return { items, next };
}
