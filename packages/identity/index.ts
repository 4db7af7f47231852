export type { AccountAccess, AccountProof } from './account-access.ts';
export type { AuditEvent, AuditRecorder } from './audit.ts';
export {
  type OperatorAccess,
  openOperatorAccess,
  operatorAccess,
  operatorKeyFile,
  operatorLink,
  readOperatorKey,
  type UseOnce,
} from './operator-access.ts';
export { describeOrigins, joinOrigins, type Origin, parseOrigins } from './origin.ts';
export {
  accountIdOf,
  accountPrincipal,
  actsForItself,
  anonymous,
  atMost,
  decodePrincipal,
  encodePrincipal,
  handedOn,
  isDirectAccount,
  isDirectOperator,
  maySee,
  ownerFilter,
  ownerKey,
  type Principal,
  type PrincipalKind,
  principalHeader,
  principalName,
  quotaKey,
  type Role,
  readPrincipal,
  roleOf,
  scheduleName,
  schedulesOf,
  withOrigins,
} from './principal.ts';
export { readOrCreateSecret } from './secret-file.ts';
export {
  createPrincipalCheck,
  type PrincipalCheck,
  readHandedOn,
  type SignedPrincipal,
  signPrincipal,
} from './signed-principal.ts';
