import type { TaskState } from './model.ts';

/** Which state may follow which: the contract's table, with the two states that A2A adds. */
const transitions: Record<TaskState, readonly TaskState[]> = {
  working: ['working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'],
  'input-required': ['working', 'canceled', 'failed'],
  'auth-required': ['working', 'canceled', 'failed'],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

export function mayFollow(from: TaskState, to: TaskState): boolean {
  return transitions[from].includes(to);
}

export function isTerminal(state: TaskState): boolean {
  return transitions[state].length === 0;
}

/** The task waits for its caller. */
export function isParked(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}
