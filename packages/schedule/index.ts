export { type Clock, systemClock, type Timer } from './clock.ts';
export { ScheduleError, type ScheduleErrorCode } from './errors.ts';
export { type Fire, isoTime, type Job, type JobState, type Overlap, type SchedulerHooks } from './job.ts';
export { type ParseOptions, parseSchedule, type Schedule } from './schedule.ts';
export { Scheduler, type SchedulerOptions } from './scheduler.ts';
export { systemTimezone } from './zone.ts';
