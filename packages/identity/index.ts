export type { AuditEvent, AuditRecorder } from './audit.ts';
export {
  type OperatorAccess,
  openOperatorAccess,
  operatorAccess,
  operatorKeyFile,
  operatorLink,
  readOperatorKey,
} from './operator-access.ts';
export {
  anonymous,
  decodePrincipal,
  encodePrincipal,
  handedOn,
  isDirectOperator,
  type Principal,
  type PrincipalKind,
  principalHeader,
} from './principal.ts';
export { readOrCreateSecret } from './secret-file.ts';
