import { isDirectOperator, type OperatorAccess } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { AppEnv } from '../app/context.ts';
import { httpErrors } from '../errors/http-error.ts';
import { describeRoute } from '../openapi/describe-route.ts';
import { validate } from '../validation/validate.ts';
import { sessionCookie } from './caller-guard.ts';
import type { CallerLimits } from './limits.ts';

const COOKIE_SECONDS = 90 * 24 * 3600;

/** Lets only the operator through, in person: what a service hands on may have passed a model. */
export function requireOperator(access: OperatorAccess): MiddlewareHandler {
  return async (context: Context<AppEnv>, next) => {
    context.set('operatorRoute', true);
    if (access.isOpen || isDirectOperator(context.get('principal'))) return next();
    throw httpErrors.operator_required({ keyFile: access.keyFile });
  };
}

/** Signs browsers in as the operator. */
export function mountOperator(
  app: Hono<AppEnv>,
  access: OperatorAccess,
  { service, homePath, limits }: { service: string; homePath: string; limits: CallerLimits },
): void {
  app.get(
    '/operator',
    describeRoute({ summary: 'Whether this browser or key is the operator' }),
    (context) => {
      const isOperator = access.isOpen || context.get('principal').kind === 'operator';
      const { isOpen: open, keyFile } = access;
      return context.json({ operator: isOperator, open, key_file: keyFile, service, home: homePath });
    },
  );
  app.get(
    '/operator/enter',
    describeRoute({ summary: 'Use a one-time link up: signs the browser in and shows the page' }),
    validate('query', z.object({ code: z.string().max(200).default('') })),
    (context) => {
      // A preview of the link, as chat programs make them, must not use it up.
      if (context.req.method === 'HEAD') return context.body(null, 204);
      const { code } = context.req.valid('query');
      if (!access.redeem(code)) {
        limits.refuseWrong(context, code);
        throw httpErrors.operator_code();
      }
      setSession(context, access.createSession(), COOKIE_SECONDS);
      return context.redirect(homePath, 303);
    },
  );
  app.post(
    '/operator',
    describeRoute({ summary: "Sign in with the operator's key" }),
    validate('json', z.object({ key: z.string().max(200) })),
    (context) => {
      // The right key always counts, so that strangers who guess cannot lock the operator out.
      const { key } = context.req.valid('json');
      if (!access.isKey(key)) {
        limits.refuseWrong(context, key);
        throw httpErrors.operator_key({ keyFile: access.keyFile });
      }
      setSession(context, access.createSession(), COOKIE_SECONDS);
      return context.json({ operator: true });
    },
  );
  app.delete('/operator', describeRoute({ summary: 'Sign this browser out' }), (context) => {
    setSession(context, '', 0);
    return context.json({ operator: access.isOpen });
  });
}

function setSession(context: Context, value: string, seconds: number): void {
  const isSecure = /^https\b/.test(
    context.req.header('origin') ?? context.req.header('x-forwarded-proto') ?? '',
  );
  const parts = [`${sessionCookie}=${value}`, `Max-Age=${seconds}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  context.header('set-cookie', [...parts, ...(isSecure ? ['Secure'] : [])].join('; '));
  context.header('cache-control', 'no-store');
}
