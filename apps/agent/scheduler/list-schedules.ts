import { defineTool, type Tool } from '@trunkline/llm';
import { oneLine, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { ScheduleBackend, ScheduledJob } from './schedule-backend.ts';

const LONGEST_PREVIEW = 80;

export function createListSchedules(backend: Pick<ScheduleBackend, 'list'>): Tool {
  return defineTool({
    name: 'list_schedules',
    description: 'Lists your scheduled jobs.',
    input: z.object({}),
    execute: () =>
      orRefusal(async () => {
        const jobs = await backend.list();
        return jobs.length === 0 ? 'No scheduled jobs.' : jobs.map(line).join('\n');
      }),
  });
}

function line({ id, next, schedule, prompt }: ScheduledJob): string {
  return `${id} | next ${next ?? 'now'} | ${schedule} | ${oneLine(prompt, LONGEST_PREVIEW)}`;
}
