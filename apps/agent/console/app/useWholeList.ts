import { type PagedList, usePages } from '@trunkline/ui';
import { type LivePart, useLive } from './live.ts';

/** A short list that the service gives out at once, under a name in its answer; loaded again when a part changes. */
export function useWholeList<Item>(path: string, name: string, parts: readonly LivePart[]): PagedList<Item> {
  const list = usePages<Item, Record<string, Item[]>>({
    key: path,
    path: () => path,
    read: (body) => ({ items: body[name] ?? [], next: null }),
  });
  useLive(parts, list.reload);
  return list;
}
