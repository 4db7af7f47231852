import { createLive } from '@trunkline/ui';
import type { BusMessage } from '../../api-types.ts';
import { fitsPattern } from './topics.ts';

const live = createLive('/api/bus/stream?topic=%23', (data) => JSON.parse(data) as BusMessage);

export const { LiveProvider, useLiveState } = live;
/** Calls back for every message on the bus. */
export const useBus = live.useLiveEvents;

/** Reloads after messages on these topics. */
export function useReloadOn(patterns: readonly string[], reload: () => void): void {
  live.useLiveReload(({ topic }) => patterns.some((pattern) => fitsPattern(pattern, topic)), reload);
}
