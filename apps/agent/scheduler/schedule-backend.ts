/** What is to run as a turn of its own at some time. */
export interface NewSchedule {
  prompt: string;
  /** A five-field cron expression, or an ISO date and time. */
  when: string;
  /** A name for it; a new one is made when left out. The same name again replaces the job. */
  jobId?: string | undefined;
}

export interface ScheduledJob {
  id: string;
  prompt: string;
  schedule: string;
  /** ISO time; undefined while nothing is ahead, as while a one-shot runs. */
  next: string | undefined;
}

/** Keeps the schedules of one agent. A refusal is an Error whose words can be shown. */
export interface ScheduleBackend {
  add(schedule: NewSchedule): Promise<{ id: string; next: string }>;
  /** Jobs of this agent alone. */
  list(): Promise<ScheduledJob[]>;
  /** Says whether there was such a job of this agent. */
  cancel(id: string): Promise<boolean>;
  start(): void;
  stop(): Promise<void>;
}
