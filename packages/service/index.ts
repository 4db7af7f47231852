export { type ComponentValues, component, ServiceAddress, startComponents } from './components.ts';
export { type Exposure, withGrpcPort } from './exposure.ts';
export {
  checkAccess,
  checkAuditLog,
  checkPosture,
  type SecurityFinding,
  type UnpairedTrust,
} from './posture.ts';
export type { ConfiguredTool, ToolTrust } from './posture-tools.ts';
export { RestartingService, watchSettings } from './restart.ts';
export { runService, strayFailure } from './run.ts';
export { isServedAt, neighbours, recordRunning } from './running.ts';
export type { Diagnosis } from './service.ts';
export {
  accountsOf,
  auditOf,
  type Missing,
  missingModel,
  missingSettings,
  modelStatus,
  operatorOf,
  type Peers,
  peerOrigins,
  peerRoles,
  type Service,
  type ServiceContext,
  type ServiceLink,
  secretsOf,
  servicesOf,
  settingsOf,
  signInOf,
} from './service.ts';
export { saveSettings } from './settings-change.ts';
export { mountSetup } from './setup.ts';
export { mountTrust } from './trust.ts';
