export type { Diagnosis } from './diagnosis.ts';
export { type Family, familyOrigins, familyRoles } from './family.ts';
export { type Missing, missingModel } from './missing.ts';
export { type RunOptions, runService } from './run.ts';
export { operatorOf, type Service, type ServiceLink, type Surroundings } from './service.ts';
export { strayFailure } from './stray-failures.ts';
