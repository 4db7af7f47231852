import { type PagedList, usePages } from '@trunkline/ui';
import type { ConsolePart } from '../../activity/live-changes.ts';
import { useLive } from './live.ts';

/** A short list that the service gives out at once, under a name in its answer; loaded again when a part changes. */
export function useWholeList<Item>(
  path: string,
  name: string,
  parts: readonly ConsolePart[],
): PagedList<Item> {
  const list = usePages<Item, Record<string, Item[]>>({
    key: path,
    path: () => path,
    read: (body) => ({ items: body[name] ?? [], next: null }),
  });
  useLive(parts, list.reload);
  return list;
}
