import { accountIdOf, isDirectOperator, type OperatorAccess } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { AppEnv } from '../app/context.ts';
import { httpErrors } from '../errors/http-error.ts';
import { describeRoute } from '../openapi/describe-route.ts';
import { refuseForeignName } from '../origins/origin-guard.ts';
import { validate } from '../validation/validate.ts';
import { type AccessOptions, sessionCookie, sessionsOf } from './caller-guard.ts';
import type { CallerLimits } from './limits.ts';

const COOKIE_SECONDS = 90 * 24 * 3600;

/** Lets only the operator through, in person: what a service hands on may have passed a model. */
export function requireOperator(access: OperatorAccess): MiddlewareHandler {
  return async (context: Context<AppEnv>, next) => {
    context.set('operatorRoute', true);
    if (isDirectOperator(context.get('principal'))) return next();
    if (!access.isOpen) throw httpErrors.operator_required({ keyFile: access.keyFile });
    // A page of another name that was made to point here has no key.
    if (context.get('principal').kind === 'anonymous') refuseForeignName(context);
    return next();
  };
}

interface MountOptions {
  service: string;
  homePath: string;
  publicUrl: string | undefined;
  limits: CallerLimits;
}

/** Signs browsers in, as the operator or with an account. */
export function mountOperator(
  app: Hono<AppEnv>,
  { operator: access, accounts, provider }: AccessOptions,
  { service, homePath, publicUrl, limits }: MountOptions,
): void {
  app.get(
    '/operator',
    describeRoute({ summary: 'Whether this browser or key is the operator' }),
    (context) => {
      const principal = context.get('principal');
      const { isOpen: open, keyFile } = access;
      return context.json({
        operator: open || principal.kind === 'operator',
        open,
        key_file: keyFile,
        service,
        home: homePath,
        account: accountIdOf(principal),
        role: principal.role,
        ...(provider && { provider: { name: provider.name, login: provider.loginPath } }),
      });
    },
  );
  app.get(
    '/operator/enter',
    describeRoute({ summary: 'Open a one-time link: signs the browser in and shows the page', status: 303 }),
    validate('query', z.object({ code: z.string().max(200).default('') })),
    (context) => {
      // A preview of the link, as chat programs make them, must not use it up.
      if (context.req.method === 'HEAD') return context.body(null, 204);
      const { code } = context.req.valid('query');
      if (!access.redeem(code)) {
        limits.refuseWrong(context, code);
        throw httpErrors.operator_code();
      }
      setSessionCookie(context, access.createSession());
      return context.redirect(homePath, 303);
    },
  );
  app.post(
    '/operator',
    describeRoute({ summary: "Sign in with the operator's key, or that of an account" }),
    validate('json', z.object({ key: z.string().max(200) })),
    (context) => {
      const { key } = context.req.valid('json');
      const person = accounts?.principalFor({ key });
      const account = person && accountIdOf(person);
      if (person !== undefined && account !== undefined) {
        context.set('principal', person);
        setSessionCookie(context, accounts?.createSession(account) ?? '');
        return context.json({ operator: person.kind === 'operator', account, role: person.role });
      }
      // The right key always counts, so that strangers who guess cannot lock the operator out.
      if (!access.isKey(key)) {
        limits.refuseWrong(context, key);
        throw httpErrors.operator_key({ keyFile: access.keyFile });
      }
      setSessionCookie(context, access.createSession());
      return context.json({ operator: true });
    },
  );
  app.delete('/operator', describeRoute({ summary: 'Sign this browser out' }), async (context) => {
    const hasAccount = accountIdOf(context.get('principal')) !== undefined;
    for (const session of sessionsOf(context.req)) accounts?.endSession(session);
    setSessionCookie(context, '', 0);
    const home = new URL(homePath, publicUrl ?? `http://${context.req.header('host')}`).href;
    // Whoever signs out here is signed out, also while the provider does not answer.
    const url = hasAccount ? await provider?.signOutUrl(home).catch(() => undefined) : undefined;
    return context.json({ operator: access.isOpen, sign_out_url: url });
  });
}

/** Signs a browser in with the session of the operator or of an account. */
export function setSessionCookie(context: Context, value: string, seconds = COOKIE_SECONDS): void {
  const isSecure = /^https\b/.test(
    context.req.header('origin') ?? context.req.header('x-forwarded-proto') ?? '',
  );
  const parts = [`${sessionCookie}=${value}`, `Max-Age=${seconds}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  context.header('set-cookie', [...parts, ...(isSecure ? ['Secure'] : [])].join('; '), { append: true });
  context.header('cache-control', 'no-store');
}

/** For a route of the operator that only looks, although its method is POST: it leaves no line in the audit log. */
export const changesNothing: MiddlewareHandler = async (context: Context<AppEnv>, next) => {
  context.set('operatorRoute', false);
  await next();
};
