import { createLive } from '@trunkline/ui';
import type { ConsolePart } from '../../activity/live-changes.ts';

const live = createLive('/api/live', (data) => (JSON.parse(data) as { parts: ConsolePart[] }).parts);

export const { LiveProvider, useLiveState } = live;

/** Loads again when the service says that one of the parts has changed, and when the line is back after a loss. */
export function useLive(parts: readonly ConsolePart[], reload: () => void): void {
  live.useLiveReload((changed) => changed.some((part) => parts.includes(part)), reload);
}
