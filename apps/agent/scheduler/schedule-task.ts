import { anonymous } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { ScheduleBackend } from './schedule-backend.ts';

const input = z.object({
  prompt: z
    .string()
    .describe('What is to be done then, in full: it runs as a fresh turn that knows nothing of this one.'),
  when: z.string().describe('A 5-field cron expression, or an ISO-8601 date and time in UTC for once.'),
  job_id: z.string().optional().describe('A name for the job; one is made when left out.'),
});

export function createScheduleTask(backend: Pick<ScheduleBackend, 'add'>): Tool {
  return defineTool({
    name: 'schedule_task',
    description: 'Schedules a prompt to run later, once or again and again.',
    input,
    execute: ({ prompt, when, job_id }, { signal, principal = anonymous }) =>
      orRefusal(async () => {
        const { id, next } = await backend.add({ prompt, when, jobId: job_id, principal });
        return `Scheduled job ${id} next at ${next}.`;
      }, signal),
  });
}
