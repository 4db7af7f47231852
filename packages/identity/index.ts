export type { AuditEvent, AuditRecorder } from './audit.ts';
export {
  type OperatorAccess,
  openOperatorAccess,
  operatorAccess,
  operatorKeyFile,
  operatorLink,
  readOperatorKey,
} from './operator-access.ts';
export { describeOrigins, joinOrigins, type Origin, parseOrigins } from './origin.ts';
export {
  anonymous,
  decodePrincipal,
  encodePrincipal,
  handedOn,
  isDirectOperator,
  maySee,
  ownerFilter,
  ownerKey,
  type Principal,
  type PrincipalKind,
  principalHeader,
  type Role,
  roleOf,
  withOrigins,
} from './principal.ts';
export { readOrCreateSecret } from './secret-file.ts';
