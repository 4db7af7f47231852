export { type Clock, systemClock, type Timer } from './clock.ts';
export { ScheduleError, type ScheduleErrorCode } from './errors.ts';
export { type ParseOptions, parseSchedule, type Schedule } from './schedule.ts';
export { systemTimezone } from './zone.ts';
