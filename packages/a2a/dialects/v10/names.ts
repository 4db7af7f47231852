import type { TaskState } from '../../protocol/model.ts';

const states: Record<TaskState, string> = {
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
};

export function stateName(state: TaskState): string {
  return states[state];
}

export function roleName(role: 'user' | 'agent'): string {
  return role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT';
}

/** A state in the spelling of either version, one among them that tasks of ours never have; else undefined. */
export function stateOfName(name: string): string | undefined {
  const plain = name.startsWith('TASK_STATE_')
    ? name.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-')
    : name;
  if (plain === 'cancelled') return 'canceled';
  return Object.hasOwn(states, plain) || plain === 'submitted' ? plain : undefined;
}
