export {
  type Component,
  type ComponentValues,
  component,
  type RunningComponents,
  ServiceAddress,
  startComponents,
} from './components.ts';
export type { Diagnosis } from './diagnosis.ts';
export { type Missing, missingModel } from './missing.ts';
export { type Peers, peerOrigins, peerRoles, type ServiceLink } from './peers.ts';
export { type RunOptions, runService } from './run.ts';
export { operatorOf, type Service, type ServiceContext } from './service.ts';
export { strayFailure } from './stray-failures.ts';
