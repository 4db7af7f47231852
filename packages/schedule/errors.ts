import { CodedError } from '@trunkline/std';

export type ScheduleErrorCode =
  | 'job_exists'
  | 'job_running'
  | 'job_unknown'
  | 'schedule_invalid'
  | 'scheduler_stopped'
  | 'timezone_unknown';

/** Names the part of a cron expression that is wrong. */
export type CronField = 'minute' | 'hour' | 'day of month' | 'month' | 'day of week';

/** A refused schedule, zone or job: the code is for programs, the message says what is wrong and what would be right. */
export class ScheduleError extends CodedError<ScheduleErrorCode> {
  override readonly name = 'ScheduleError';
  /** The field of the cron expression at fault, where there is one. */
  readonly field: CronField | undefined;

  constructor(code: ScheduleErrorCode, message: string, options: ErrorOptions & { field?: CronField } = {}) {
    super(code, message, options);
    this.field = options.field;
  }
}
