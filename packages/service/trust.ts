import { join } from 'node:path';
import { type Accounts, mountAccounts } from '@trunkline/accounts';
import { type AuditLog, mountAuditLog } from '@trunkline/audit';
import type { SecretStore } from '@trunkline/config';
import { type App, servePages } from '@trunkline/http';
import { mountPolicy, type PolicyRoutes } from '@trunkline/policy';
import { mountSecrets } from './secrets-routes.ts';

/** Built by ensurePages of packages/ui. */
const PAGES = join(import.meta.dirname, '../ui/dist');

export interface TrustDeps extends PolicyRoutes {
  audit: AuditLog;
  secrets: SecretStore;
  accounts: Accounts;
  /** Whether the page is served too; its data always are. */
  hasPage?: boolean;
}

/** The page at `/trust`, the same on every service, and the routes below `/operator` that it shows. Add it before guards and pages. */
export function mountTrust<Caller>(app: App<Caller>, deps: TrustDeps): void {
  mountAuditLog(app, deps.audit, deps.operator);
  mountAccounts(app, deps.accounts, deps.operator);
  mountPolicy(app, deps);
  mountSecrets(app, deps);
  if (deps.hasPage === false) return;
  // The page names its assets relative to its address.
  app.use('/trust', (context, next) =>
    context.req.path === '/trust' ? Promise.resolve(context.redirect('/trust/people')) : next(),
  );
  servePages(app, { directory: PAGES, base: '/trust', fallback: 'index.html' });
}
