import { type PagedList, useApi, useAttempt, usePages } from '@trunkline/ui';
import { useState } from 'react';
import type { Answer } from '../../api-types.ts';
import { useReloadOn } from './live.ts';

const AT_ONCE = 50;

/** A list that the service returns whole, shown in pages; reloads after messages on these topics. */
export function useList<Item, Data = Item[]>(
  path: string,
  topics: readonly string[],
  pick: (data: Data) => readonly Item[] = (data) => data as unknown as Item[],
): PagedList<Item> {
  const list = usePages<Item, Answer<Data>>({
    key: path,
    path: () => path,
    read: ({ data, incomplete }) => ({ items: pick(data), next: null, incomplete }),
  });
  useReloadOn(topics, list.reload);
  return usePieces(list);
}

/** Shows a part of a list, and more on request. */
export function usePieces<Item>(list: PagedList<Item>): PagedList<Item> {
  const [shown, setShown] = useState(AT_ONCE);
  const { items, hasMore } = list;
  if (items === undefined) return list;
  const isAllShown = items.length <= shown;
  return {
    ...list,
    items: isAllShown ? items : items.slice(0, shown),
    hasMore: !isAllShown || hasMore,
    loading: isAllShown && list.loading,
    more: () => {
      setShown(Math.min(shown, items.length) + AT_ONCE);
      if (isAllShown) list.more();
    },
  };
}

export function useSend() {
  const api = useApi();
  const attempt = useAttempt();
  return (
    path: string,
    {
      title,
      body,
      method = 'POST',
      undo,
    }: { title: string; body?: unknown; method?: 'POST' | 'PUT' | 'DELETE'; undo?: () => void },
  ): Promise<boolean> =>
    attempt(() => api.request(path, { method, ...(body !== undefined && { body }) }), {
      title,
      ...(undo && { undo }),
    });
}

/** Undoes the last change of an entry. */
export function useUndoLast() {
  const api = useApi();
  const attempt = useAttempt();
  return (kind: string, name: string) =>
    void attempt(async () => {
      const path = `/api/changes?limit=1&kind=${kind}&name=${encodeURIComponent(name)}`;
      const { data } = await api.request<Answer<{ id: number }[]>>(path);
      const [last] = data;
      if (last) await api.request(`/api/changes/${last.id}/undo`, { body: {} });
    });
}
