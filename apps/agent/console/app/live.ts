import { createLive, type PagedList, useApi, useAttempt, usePages, useResource } from '@trunkline/ui';
import type { ConsolePart } from '../../activity/live-changes.ts';
import type { AgentConfig } from '../../setup/config-schema.ts';

const live = createLive('/api/live', (data) => (JSON.parse(data) as { parts: ConsolePart[] }).parts);

export const { LiveProvider, useLiveState } = live;

/** Loads again when the service says that one of the parts has changed, and when the line is back after a loss. */
export function useLive(parts: readonly ConsolePart[], reload: () => void): void {
  live.useLiveReload((changed) => changed.some((part) => parts.includes(part)), reload);
}

interface ListAnswer<Item> {
  [name: string]: Item[] | string | number | null;
}

/**
 * A list that the service gives out under a name in its answer, loaded again when a part changes. Where the answer tells
 * of more, the next page is asked for with the query `cursor`.
 */
export function useLiveList<Item>(
  path: string,
  name: string,
  parts: readonly ConsolePart[],
  cursor = 'before',
): PagedList<Item> {
  const list = usePages<Item, ListAnswer<Item>>({
    key: path,
    path: (next) => (next === undefined ? path : `${path}&${cursor}=${encodeURIComponent(next)}`),
    read: ({ [name]: items, next, next_page }) => ({
      items: items as Item[],
      next: (next ?? next_page ?? null) as string | number | null,
    }),
  });
  useLive(parts, list.reload);
  return list;
}

/** A change of one value in the configuration; comments in it stay. */
type ConfigChange =
  | { op: 'set' | 'add'; path: (string | number)[]; value: unknown }
  | { op: 'remove'; path: (string | number)[] };

export type McpServer = AgentConfig['mcp']['servers'][number];

export type Delegate = AgentConfig['delegates'][number];

/** The live configuration, and a way to change values of it. */
export function useConfig() {
  const api = useApi();
  const attempt = useAttempt();
  const resource = useResource<{ config: AgentConfig }>('/api/config');
  return {
    config: resource.body?.config,
    error: resource.error,
    reload: resource.reload,
    /** Resolves to whether it was accepted; shows a refusal. */
    change: (title: string, ...changes: ConfigChange[]) =>
      attempt(() => api.request('/api/config', { method: 'PATCH', body: { changes } }), {
        title,
        detail: 'It takes effect in a moment.',
      }),
  };
}
