import type { LampState } from '../components/Lamp.tsx';

/** The one map from what a service reports to the lamp and the word that stand for it, on every page. */
const STATES = {
  running: ['live', 'Running'],
  working: ['live', 'Working'],
  on: ['live', 'On'],
  connected: ['live', 'Connected'],
  ready: ['live', 'Ready'],
  ok: ['live', 'Good'],
  done: ['done', 'Done'],
  achieved: ['done', 'Reached'],
  delivered: ['done', 'Delivered'],
  resolved: ['done', 'Resolved'],
  asks: ['waiting', 'Asks you'],
  held: ['waiting', 'Held'],
  queued: ['waiting', 'Waits'],
  starting: ['waiting', 'Starts'],
  connecting: ['waiting', 'Connecting'],
  paused: ['waiting', 'Paused'],
  open: ['waiting', 'Open'],
  warning: ['waiting', 'Look at it'],
  failed: ['failed', 'Failed'],
  refused: ['failed', 'Refused'],
  missed: ['failed', 'Missed'],
  unreachable: ['failed', 'Not reached'],
  weak: ['failed', 'Weak'],
  stopped: ['idle', 'Stopped'],
  skipped: ['idle', 'Skipped'],
  scheduled: ['idle', 'Scheduled'],
  off: ['idle', 'Off'],
  unknown: ['idle', 'Not known'],
} as const satisfies Record<string, readonly [LampState, string]>;

export type StateName = keyof typeof STATES;

/** How a state is shown. The word may be one of the page's own; the colour may not. */
export function stateLamp(
  name: StateName,
  word: string = STATES[name][1],
): { state: LampState; word: string } {
  return { state: STATES[name][0], word };
}
