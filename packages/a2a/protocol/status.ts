import type { StatusEvent, Task } from './model.ts';

/** The state of a task as the event that led to it. */
export function lastStatus({ state, updatedAt, statusMessage, usage, durationMs }: Task): StatusEvent {
  return {
    type: 'status',
    state,
    at: updatedAt,
    ...(statusMessage && { message: statusMessage }),
    ...(usage && { usage }),
    ...(durationMs !== undefined && { durationMs }),
  };
}
