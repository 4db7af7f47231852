import type { LampState } from '@trunkline/ui';
import type { TurnState } from '../../chat/wire.ts';

export type {
  Part as TaskPart,
  PushDelivery as Delivery,
  TaskLogEvent as TaskEvent,
  TaskSummary,
} from '../../../routes/console/tasks.ts';

export const STATES: Record<TurnState, { lamp: LampState; word: string }> = {
  working: { lamp: 'live', word: 'Working' },
  'input-required': { lamp: 'waiting', word: 'Asks you' },
  'auth-required': { lamp: 'waiting', word: 'Asks for access' },
  completed: { lamp: 'idle', word: 'Done' },
  failed: { lamp: 'failed', word: 'Failed' },
  canceled: { lamp: 'idle', word: 'Stopped' },
  rejected: { lamp: 'failed', word: 'Refused' },
};
