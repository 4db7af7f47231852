import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { ScheduleBackend } from './schedule-backend.ts';

export function createCancelSchedule(backend: Pick<ScheduleBackend, 'cancel'>): Tool {
  return defineTool({
    name: 'cancel_schedule',
    description: 'Cancels one of your scheduled jobs.',
    input: z.object({ job_id: z.string() }),
    execute: ({ job_id }, { signal }) =>
      orRefusal(async () => {
        const id = job_id.trim();
        return (await backend.cancel(id)) ? `Canceled ${id}.` : `Error: no such job ${id}.`;
      }, signal),
  });
}
