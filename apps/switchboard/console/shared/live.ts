import { createLive } from '@trunkline/ui';
import type { BusMessage } from '../../api-types.ts';
import { fitsPattern } from './topics.ts';

const live = createLive('/api/bus/stream?topic=%23', (data) => JSON.parse(data) as BusMessage);

export const { LiveProvider, useLiveState } = live;
/** Hears every message on the bus. */
export const useBus = live.useLiveEvents;

/** Loads again after messages on one of these topics. */
export function useReloadOn(patterns: readonly string[], reload: () => void): void {
  live.useLiveReload(({ topic }) => patterns.some((pattern) => fitsPattern(pattern, topic)), reload);
}
