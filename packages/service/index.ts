export type { Diagnosis } from './diagnosis.ts';
export { type RunOptions, runService } from './run.ts';
export type { Missing, Service, ServiceLink, Surroundings } from './service.ts';
