export {
  type AuditEntry,
  AuditLog,
  type AuditLogOptions,
  type AuditQuery,
  type AuditVerification,
  auditFile,
} from './audit-log.ts';
export { mountAuditLog } from './routes.ts';
