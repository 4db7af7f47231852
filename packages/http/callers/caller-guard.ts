import type { Principal } from '@trunkline/identity';
import type { Context, MiddlewareHandler } from 'hono';
import type { AppEnv } from '../app/context.ts';
import type { HttpError, HttpErrorOptions } from '../errors/http-error.ts';
import { httpErrors } from '../errors/http-errors.ts';
import { markGuard } from '../openapi/guard-mark.ts';
import { refuseForeignName } from '../origins/page-guard.ts';
import { type CredentialPlace, challenge, presentedKey } from './credentials.ts';
import type { Keyring } from './keyring.ts';

export interface CallerGuardOptions<Caller> {
  /** A function where the keys can change while the service runs. */
  keyring: Keyring<Caller> | (() => Keyring<Caller>);
  /** Where a key may stand, in order of precedence: only the first that the request has counts. */
  credentials?: readonly CredentialPlace[];
  /** The caller while no key is set; without one, or when it gives none, every request is refused. */
  openCaller?: () => Caller | undefined;
  /** The caller for the operator, or for somebody on whose behalf one of our services asks; undefined: their key decides. */
  trustedCaller?: (principal: Principal) => Caller | undefined;
  /** Who a caller with a key is; an agent of that key when not given. */
  principalOf?: (caller: Caller) => Principal;
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
  const principal = context.get('principal');
  const trusted = principal.kind === 'anonymous' ? undefined : options.trustedCaller?.(principal);
  if (trusted !== undefined) return trusted;
  const keyring = typeof options.keyring === 'function' ? options.keyring() : options.keyring;
  if (keyring.size === 0) {
    refuseForeignName(context);
    return options.openCaller?.();
  }
  const key = presentedKey(context.req, credentials);
  const caller = key === undefined ? undefined : keyring.find(key);
  if (caller !== undefined) context.set('principal', options.principalOf?.(caller) ?? keyHolder);
  return caller;
}

const keyHolder: Principal = { kind: 'agent', id: 'key', via: [] };
