export { type Fire, isoTime, type Job } from './entry.ts';
export { ScheduleError } from './errors.ts';
export { parseSchedule, type Schedule } from './schedule.ts';
export { Scheduler } from './scheduler.ts';
export { type Clock, systemClock, type Timer } from './wakeup.ts';
export { isTimezone, systemTimezone } from './zone.ts';
