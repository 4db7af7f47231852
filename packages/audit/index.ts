export {
  AuditLog,
  type AuditLogOptions,
  type AuditQuery,
  auditFile,
} from './audit-log.ts';
export { mountAuditLog } from './routes.ts';
