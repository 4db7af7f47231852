import { randomUUID } from 'node:crypto';
import { parseSchedule } from '@trunkline/schedule';
import { StoreError } from '../stores/store-error.ts';
import type { NewSchedule } from './schedule-backend.ts';

const MAX_PROMPT_LENGTH = 20_000;
const MAX_ID_LENGTH = 200;

export interface CheckedSchedule {
  id: string;
  prompt: string;
  schedule: string;
  /** Milliseconds since 1970. */
  next: number;
}

/** Checks a new schedule; throws an error that can be shown when it is invalid. */
export function checkSchedule(
  { prompt, when, jobId }: NewSchedule,
  { agentName, timezone, now }: { agentName: string; timezone: string; now: number },
): CheckedSchedule {
  if (prompt.trim() === '') throw new StoreError('invalid', 'the prompt is empty.');
  if (prompt.length > MAX_PROMPT_LENGTH)
    throw new StoreError('invalid', `the prompt is longer than ${MAX_PROMPT_LENGTH} characters.`);
  const schedule = parseSchedule(when, { timezone });
  const next = schedule.next(now);
  if (next === undefined)
    throw new StoreError('invalid', `the time ${when} has passed; it is ${new Date(now).toISOString()} now.`);
  return { id: idOf(jobId, agentName), prompt, schedule: schedule.text, next };
}

function idOf(given: string | undefined, agentName: string): string {
  const id = given?.trim() || `${agentName}-${randomUUID()}`;
  if (id.length > MAX_ID_LENGTH)
    throw new StoreError('invalid', `the job id is longer than ${MAX_ID_LENGTH} characters.`);
  return id;
}
