export { AuditLog, auditFile } from './audit-log.ts';
export { mountAuditLog } from './routes.ts';
