export { type Fire, isoTime, type Job, type JobState, type Overlap, type SchedulerHooks } from './entry.ts';
export { ScheduleError, type ScheduleErrorCode } from './errors.ts';
export { type ParseOptions, parseSchedule, type Schedule } from './schedule.ts';
export { Scheduler, type SchedulerOptions } from './scheduler.ts';
export { type Clock, systemClock, type Timer } from './wakeup.ts';
export { isTimezone, systemTimezone } from './zone.ts';
