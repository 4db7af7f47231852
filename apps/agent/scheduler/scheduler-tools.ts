import { anonymous, joinOrigins } from '@trunkline/identity';
import { defineTool, type Tool, type ToolContext } from '@trunkline/llm';
import { oneLine } from '@trunkline/tools';
import { z } from 'zod';
import { defineToolModule } from '../tools/tool-module.ts';
import type { ScheduledJob, Schedules } from './schedule-backend.ts';

const maxPreviewLength = 80;

export const schedulerTools = defineToolModule({
  name: 'scheduler',
  tools({ scheduler, actor }) {
    if (scheduler === undefined) return [];
    const schedulesOf: SchedulesOf = ({ principal }) => scheduler.for(actor(principal));
    return [scheduleTask(schedulesOf), listSchedules(schedulesOf), cancelSchedule(schedulesOf)];
  },
});

type SchedulesOf = (context: Pick<ToolContext, 'principal'>) => Schedules;

function scheduleTask(schedulesOf: SchedulesOf): Tool {
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
      when: z
        .string()
        .describe(
          'A 5-field cron expression, or an ISO-8601 date and time for once; in `timezone`, unless the time has an offset or Z.',
        ),
      timezone: z
        .string()
        .optional()
        .describe("IANA time zone of `when`; left out, the person's where it is known, else UTC."),
      job_id: z.string().optional().describe('A name for the job; one is made when left out.'),
    }),
    execute: async ({ prompt, when, job_id, timezone = '' }, context) => {
      const { principal = anonymous, sessionId } = context;
      const { id, next } = await schedulesOf(context).add({
        ...{ prompt, when, jobId: job_id, principal, sessionId },
        timezone: timezone.trim() || context.timezone,
      });
      return `Scheduled job ${id} next at ${next}.`;
    },
  });
}

function listSchedules(schedulesOf: SchedulesOf): Tool {
  return defineTool({
    name: 'list_schedules',
    effects: ['reads'],
    description: 'Lists your scheduled jobs.',
    input: z.object({}),
    execute: async (_, context) => {
      const jobs = await schedulesOf(context).list();
      context.addOrigins?.(joinOrigins(...jobs.map(({ origins }) => origins)));
      return jobs.length === 0 ? 'No scheduled jobs.' : jobs.map(jobLine).join('\n');
    },
  });
}

function jobLine({ id, next, schedule, prompt }: ScheduledJob): string {
  return `${id} | next ${next ?? 'now'} | ${schedule} | ${oneLine(prompt, maxPreviewLength)}`;
}

function cancelSchedule(schedulesOf: SchedulesOf): Tool {
  return defineTool({
    name: 'cancel_schedule',
    effects: ['writes'],
    description: 'Cancels one of your scheduled jobs.',
    input: z.object({ job_id: z.string() }),
    execute: async ({ job_id }, context) => {
      const id = job_id.trim();
      return (await schedulesOf(context).cancel(id)) ? `Canceled ${id}.` : `Error: no such job ${id}.`;
    },
  });
}
