import { stateLamp } from '@trunkline/ui';
import type { TurnState } from '../../chat/wire.ts';

export type {
  Part as TaskPart,
  PushDelivery as Delivery,
  TaskLogEvent as TaskEvent,
  TaskSummary,
} from '../../../routes/console/tasks.ts';

export const STATES: Record<TurnState, ReturnType<typeof stateLamp>> = {
  working: stateLamp('working'),
  'input-required': stateLamp('asks'),
  'auth-required': stateLamp('asks', 'Asks for access'),
  completed: stateLamp('done'),
  failed: stateLamp('failed'),
  canceled: stateLamp('stopped'),
  rejected: stateLamp('refused'),
};
