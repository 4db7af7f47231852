import { createLive } from '@trunkline/ui';

/** The parts of the console that the service tells changes of. */
export type LivePart =
  | 'tasks'
  | 'notes'
  | 'board'
  | 'goals'
  | 'memory'
  | 'schedules'
  | 'inbox'
  | 'audit'
  | 'telemetry'
  | 'config';

const live = createLive('/api/live', (data) => (JSON.parse(data) as { parts: LivePart[] }).parts);

export const { LiveProvider, useLiveState } = live;

/** Loads again when the service says that one of the parts has changed, and when the line is back after a loss. */
export function useLive(parts: readonly LivePart[], reload: () => void): void {
  live.useLiveReload((changed) => changed.some((part) => parts.includes(part)), reload);
}
