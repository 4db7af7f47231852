import type { Context, MiddlewareHandler } from 'hono';
import type { AppEnv } from '../app/context.ts';
import type { HttpError, HttpErrorOptions } from '../errors/http-error.ts';
import { httpErrors } from '../errors/http-errors.ts';
import { markGuard } from '../openapi/guard-mark.ts';
import { refuseForeignPage } from '../origins/foreign-page.ts';
import { type CredentialPlace, challenge, presentedKey } from './credentials.ts';
import type { Keyring } from './keyring.ts';

export interface CallerGuardOptions<Caller> {
  /** A function where the keys can change while the service runs. */
  keyring: Keyring<Caller> | (() => Keyring<Caller>);
  /** Where a key may stand, in order of precedence: only the first that the request has counts. */
  credentials?: readonly CredentialPlace[];
  /** The caller while no key is set; without one, or when it gives none, every request is refused. */
  openCaller?: () => Caller | undefined;
  /** Paths under the guarded prefix that stay public. */
  except?: readonly string[];
  /** The refusal in the service's own words. */
  refuse?: (options: HttpErrorOptions) => HttpError;
}

const DEFAULT_CREDENTIALS: readonly CredentialPlace[] = ['x-api-key', 'bearer'];

/** Finds out who is calling and puts it in `c.get('caller')`, or answers 401. Several guards on one path all apply. */
export function callerGuard<Caller>(options: CallerGuardOptions<Caller>): MiddlewareHandler {
  const { except = [], credentials = DEFAULT_CREDENTIALS, refuse = httpErrors.unauthenticated } = options;
  const headers = { 'www-authenticate': challenge(credentials) };
  const guard = async (context: Context<AppEnv<Caller>>, next: () => Promise<void>) => {
    if (except.includes(context.req.path)) return next();
    const caller = identify(context, options, credentials);
    if (caller === undefined) throw refuse({ headers });
    context.set('caller', caller);
    return next();
  };
  return markGuard(guard, { credentials, except });
}

function identify<Caller>(
  context: Context<AppEnv<Caller>>,
  options: CallerGuardOptions<Caller>,
  credentials: readonly CredentialPlace[],
): Caller | undefined {
  const keyring = typeof options.keyring === 'function' ? options.keyring() : options.keyring;
  if (keyring.size === 0) {
    refuseForeignPage(context);
    return options.openCaller?.();
  }
  const key = presentedKey(context.req, credentials);
  return key === undefined ? undefined : keyring.find(key);
}
