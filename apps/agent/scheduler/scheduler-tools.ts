import { anonymous } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import { oneLine } from '@trunkline/tools';
import { z } from 'zod';
import { defineToolModule } from '../tools/tool-module.ts';
import type { ScheduleBackend, ScheduledJob } from './schedule-backend.ts';

const maxPreviewLength = 80;

export const schedulerTools = defineToolModule({
  name: 'scheduler',
  tools: ({ scheduler }) =>
    scheduler === undefined
      ? []
      : [scheduleTask(scheduler), listSchedules(scheduler), cancelSchedule(scheduler)],
});

function scheduleTask(scheduler: ScheduleBackend): Tool {
  return defineTool({
    name: 'schedule_task',
    effects: ['writes'],
    description: 'Schedules a prompt to run later, once or again and again.',
    input: z.object({
      prompt: z
        .string()
        .describe(
          'What is to be done then, in full: it runs as a fresh turn that knows nothing of this one.',
        ),
      when: z.string().describe('A 5-field cron expression, or an ISO-8601 date and time in UTC for once.'),
      job_id: z.string().optional().describe('A name for the job; one is made when left out.'),
    }),
    execute: async ({ prompt, when, job_id }, { principal = anonymous }) => {
      const { id, next } = await scheduler.add({ prompt, when, jobId: job_id, principal });
      return `Scheduled job ${id} next at ${next}.`;
    },
  });
}

function listSchedules(scheduler: ScheduleBackend): Tool {
  return defineTool({
    name: 'list_schedules',
    effects: ['reads'],
    description: 'Lists your scheduled jobs.',
    input: z.object({}),
    execute: async () => {
      const jobs = await scheduler.list();
      return jobs.length === 0 ? 'No scheduled jobs.' : jobs.map(jobLine).join('\n');
    },
  });
}

function jobLine({ id, next, schedule, prompt }: ScheduledJob): string {
  return `${id} | next ${next ?? 'now'} | ${schedule} | ${oneLine(prompt, maxPreviewLength)}`;
}

function cancelSchedule(scheduler: ScheduleBackend): Tool {
  return defineTool({
    name: 'cancel_schedule',
    effects: ['writes'],
    description: 'Cancels one of your scheduled jobs.',
    input: z.object({ job_id: z.string() }),
    execute: async ({ job_id }) => {
      const id = job_id.trim();
      return (await scheduler.cancel(id)) ? `Canceled ${id}.` : `Error: no such job ${id}.`;
    },
  });
}
