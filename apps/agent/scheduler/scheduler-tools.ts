import type { Tool } from '@trunkline/llm';
import { createCancelSchedule } from './cancel-schedule.ts';
import { createListSchedules } from './list-schedules.ts';
import type { ScheduleBackend } from './schedule-backend.ts';
import { createScheduleTask } from './schedule-task.ts';

/** None without a backend. */
export function schedulerTools(backend: ScheduleBackend | undefined): Tool[] {
  if (backend === undefined) return [];
  return [createScheduleTask(backend), createListSchedules(backend), createCancelSchedule(backend)];
}
