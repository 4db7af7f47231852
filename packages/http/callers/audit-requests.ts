import type { AuditRecorder } from '@trunkline/identity';
import type { RequestContext } from '../app/context.ts';
import { sessionsOf } from './caller-guard.ts';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const SIGN_IN = new Set(['POST /operator', 'GET /operator/enter', 'GET /operator/oidc/callback']);

/** Refusals and failed sign-ins that are recorded one by one within a minute; the rest of the minute is counted, so that guessing fills no disk. */
const MAX_REFUSALS = 60;
const WINDOW_MS = 60_000;

/** Reports what matters of a finished request: changes on operator routes, sign-ins, and refused callers. */
export function createRequestAudit(service: string, audit: AuditRecorder, now: () => number = Date.now) {
  const refusals = { since: 0, recorded: 0, left: 0 };
  return (context: RequestContext, route: string, status: number): void => {
    const action = actionOf(context, route, status);
    if (action === undefined) return;
    const principal = context.get('principal');
    if (status >= 400 && action !== 'http.change') {
      if (now() - refusals.since >= WINDOW_MS) {
        const result = `${refusals.left} more within a minute`;
        if (refusals.left > 0)
          audit.record({ service, action: 'http.refused', subject: 'refused requests', principal, result });
        Object.assign(refusals, { since: now(), recorded: 0, left: 0 });
      }
      if (refusals.recorded >= MAX_REFUSALS) {
        refusals.left += 1;
        return;
      }
      refusals.recorded += 1;
    }
    const change = status < 400 ? context.get('change') : undefined;
    const subject = `${context.req.method} ${route}`;
    const result = change === undefined ? String(status) : `${status}: ${change}`;
    audit.record({ service, action, subject, principal, result });
  };
}

function actionOf(context: RequestContext, route: string, status: number): string | undefined {
  const { method } = context.req;
  if (SIGN_IN.has(`${method} ${route}`)) return 'operator.sign-in';
  if (method === 'DELETE' && route === '/operator' && hasSession(context)) return 'operator.sign-out';
  if (status === 401 || status === 403 || status === 429) return 'http.refused';
  return context.get('operatorRoute') && !SAFE_METHODS.has(method) ? 'http.change' : undefined;
}

function hasSession(context: RequestContext): boolean {
  return context.get('principal').kind !== 'anonymous' && sessionsOf(context.req).length > 0;
}
