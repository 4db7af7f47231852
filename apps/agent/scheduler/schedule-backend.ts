import { randomUUID } from 'node:crypto';
import type { SendCommand } from '@trunkline/a2a';
import type { Origin, Principal } from '@trunkline/identity';
import { parseSchedule } from '@trunkline/schedule';
import type { Actor } from '../owners.ts';
import { StoreError } from '../stores/store-error.ts';

const MAX_PROMPT_LENGTH = 20_000;

const MAX_ID_LENGTH = 200;

/** What is to run as a turn of its own at some time. */
export interface NewSchedule {
  prompt: string;
  /** A five-field cron expression, or an ISO date and time. */
  when: string;
  /** IANA zone in which a cron expression, or a time without an offset, is meant; UTC when left out. */
  timezone?: string | undefined;
  /** A name for it; a new one is made when left out. The same name again replaces the job. */
  jobId?: string | undefined;
  /** Who asked for it: it runs for them, with no more rights than they have. The operator when left out. */
  principal?: Principal | undefined;
  /** The conversation in which it was asked for: its runs are shown there. */
  sessionId?: string | undefined;
}

export interface ScheduledJob {
  id: string;
  prompt: string;
  schedule: string;
  /** IANA zone of a cron expression. */
  timezone: string;
  /** ISO time; undefined while nothing is ahead, as while a one-shot runs. */
  next: string | undefined;
  /** The next few times, were it not paused; empty where that is not known here. */
  upcoming: string[];
  paused: boolean;
  running: boolean;
  /** The conversation in which it was asked for. */
  session_id?: string | undefined;
  /** What the prompt was drawn from beyond the operator's trust. */
  origins?: readonly Origin[];
}

/** The schedules of one agent that somebody may see. A refusal is an Error whose message can be shown. */
export interface Schedules {
  add(schedule: NewSchedule): Promise<{ id: string; next: string }>;
  /** Jobs of this agent alone. */
  list(): Promise<ScheduledJob[]>;
  /** Says whether there was such a job of this agent. */
  cancel(id: string): Promise<boolean>;
  /** Absent where the jobs are stored elsewhere. */
  control?: ScheduleControl;
}

/** Stores the schedules of one agent; the operator's view of them, `for` gives that of others. */
export interface ScheduleBackend extends Schedules {
  for(actor: Actor): Schedules;
  /** Gives a run that comes back from elsewhere to whoever asked for it; missing where runs start here. */
  readonly receive?: (command: SendCommand) => SendCommand;
  /** Names whose schedules lie beside this agent's and run nowhere, as far as is known. */
  readonly strayNames?: readonly string[];
  start(): void;
  stop(): Promise<void>;
}

/** What a person may do with a job besides cancelling it. A job that is not there is a refusal. */
interface ScheduleControl {
  pause(id: string): void;
  /** Times that passed during the pause are left out. */
  resume(id: string): void;
  /** Fires it at once, beside its schedule. */
  runNow(id: string): void;
}

interface CheckedSchedule {
  id: string;
  prompt: string;
  schedule: string;
  timezone: string;
  /** Milliseconds since 1970. */
  next: number;
}

/** Checks a new schedule; throws an error that can be shown when it is invalid. */
export function checkSchedule(
  { prompt, when, timezone, jobId }: NewSchedule,
  { agentName, timezone: usual, now }: { agentName: string; timezone: string; now: number },
): CheckedSchedule {
  if (prompt.trim() === '') throw new StoreError('invalid', 'the prompt is empty.');
  if (prompt.length > MAX_PROMPT_LENGTH)
    throw new StoreError('invalid', `the prompt is longer than ${MAX_PROMPT_LENGTH} characters.`);
  const schedule = parseSchedule(when, { timezone: timezone ?? usual });
  const next = schedule.next(now);
  if (next === undefined)
    throw new StoreError('invalid', `the time ${when} has passed; it is ${new Date(now).toISOString()} now.`);
  return { id: idOf(jobId, agentName), prompt, schedule: schedule.text, timezone: schedule.timezone, next };
}

const MAX_UPCOMING = 5;

/** The next few times of a schedule that is not there yet; throws an error that can be shown when it is invalid. */
export function previewSchedule(when: string, timezone: string, now: number): string[] {
  const times = parseSchedule(when, { timezone }).preview(MAX_UPCOMING, now);
  return times.map((time) => new Date(time).toISOString());
}

function idOf(given: string | undefined, agentName: string): string {
  const id = given?.trim() || `${agentName}-${randomUUID()}`;
  if (id.length > MAX_ID_LENGTH)
    throw new StoreError('invalid', `the job id is longer than ${MAX_ID_LENGTH} characters.`);
  return id;
}
