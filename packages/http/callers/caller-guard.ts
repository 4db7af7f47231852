import { hash, timingSafeEqual } from 'node:crypto';
import {
  type AccountAccess,
  type AuditRecorder,
  anonymous,
  atMost,
  type OperatorAccess,
  type Principal,
  principalHeader,
  readHandedOn,
  roleOf,
  withOrigins,
} from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { isBelow } from '../app/body-limit.ts';
import type { AppEnv, Logger, RequestContext } from '../app/context.ts';
import { type HttpError, type HttpErrorOptions, httpErrors, isRefusal } from '../errors/http-error.ts';
import { markGuard } from '../openapi/document.ts';
import { refuseForeignName } from '../origins/origin-guard.ts';
import {
  bearerToken,
  type CredentialPlace,
  challenge,
  type HeaderReader,
  operatorHeader,
  presentedKey,
} from './credentials.ts';
import { tryKeys } from './limits.ts';

export const sessionCookie = 'trunkline_operator';

const operatorInPerson: Principal = { kind: 'operator', id: 'operator', via: [] };

export interface CallerGuardOptions<Caller> {
  /** A function where the keys can change while the service runs. */
  keyring: Keyring<Caller> | (() => Keyring<Caller>);
  /** Where a key may stand, in order of precedence: only the first that the request has counts. */
  credentials?: readonly CredentialPlace[];
  /** The caller while no key is set; without one, or when it gives none, every request is refused. */
  openCaller?: () => Caller | undefined;
  /** The caller for the operator, somebody with an account, or on whose behalf one of our services asks; undefined: their key decides. */
  trustedCaller?: (principal: Principal) => Caller | undefined;
  /** Who a caller with a key is; an agent of that key when not given. */
  principalOf?: (caller: Caller) => Principal;
  /** The only paths that guests may use, and those below them. */
  guestPaths?: readonly string[];
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
    const isOpen = except.includes(context.req.path);
    // Who shows a key is known by it where none is asked for, too.
    const caller = identify(context, options, credentials);
    if (isOpen) return next();
    if (caller === undefined) throw refuse({ headers });
    const isAllowed = () => options.guestPaths?.some((parent) => isBelow(context.req.path, parent));
    if (context.get('principal').role === 'guest' && !isAllowed()) throw httpErrors.guest();
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
  const caller = key === undefined ? undefined : tryKeys(context, [key], () => keyring.find(key));
  if (caller !== undefined) {
    const holder = options.principalOf?.(caller) ?? keyHolder;
    // Somebody whom a file of the service lists may be linked to an account.
    const account = context.get('kit')?.accounts?.principalFor({ identity: holder.id });
    context.set('principal', withOrigins(account ?? holder, principal.origins));
  }
  return caller;
}

const keyHolder: Principal = { kind: 'agent', id: 'key', via: [] };

/** After a caller guard: lets a caller through by role or scope, or answers 403. */
export function allowCallers<Caller>(
  isAllowed: (caller: Caller) => boolean,
  refuse: () => HttpError = httpErrors.forbidden,
): MiddlewareHandler {
  return async (context: Context<AppEnv<Caller>>, next) => {
    if (!isAllowed(context.get('caller'))) throw refuse();
    return next();
  };
}

/** What identifies a request before any guard of the service looks at it. */
export interface AccessOptions {
  operator: OperatorAccess;
  /** The people of this installation. */
  accounts?: AccountAccess | undefined;
  /** The token that our own services show each other. */
  serviceToken?: string | undefined;
  /** Where people sign in beside keys. */
  provider?: SignInProvider | undefined;
  /** Gets changes on operator routes, sign-ins and refused requests. */
  audit?: AuditRecorder | undefined;
}

/**
 * Returns the principal that a request proves by itself: the operator, somebody with an account, or the one for whom one
 * of our services asks. Everybody else is anonymous until a guard of the service finds their key.
 */
export function createIdentify({
  operator,
  accounts,
  serviceToken,
}: AccessOptions): (request: HeaderReader) => Principal {
  const services = createKeyring([{ key: serviceToken, caller: true }]);
  return (request) => {
    const keys = [request.header(operatorHeader), bearerToken(request), request.header('x-api-key')?.trim()];
    const presented = keys.filter((key) => key !== undefined && key !== '') as string[];
    if (presented.some((key) => operator.isKey(key))) return operatorInPerson;
    const sessions = sessionsOf(request);
    const isHandedOn = presented.some((key) => services.find(key) === true);
    // Whoever shows the key of an account is that person, also in a browser that signed in as somebody else.
    for (const key of isHandedOn ? [] : presented) {
      const person = accounts?.principalFor({ key });
      if (person !== undefined) return person;
    }
    if (sessions.some((cookie) => operator.isSession(cookie))) return operatorInPerson;
    if (isHandedOn) {
      const principal = handedOnPrincipal(request);
      return accounts?.current(principal) ?? principal;
    }
    for (const session of sessions) {
      const person = accounts?.principalFor({ session });
      if (person !== undefined) return person;
    }
    return anonymous;
  };
}

/**
 * Whether whoever made a request would still be let in with the same rights: keys are revoked, sessions end, accounts are
 * disabled, removed or get a lower role while an answer is still being written.
 */
export function stillStands(
  context: RequestContext,
  first: Principal,
  identify: (request: HeaderReader) => Principal,
): boolean {
  try {
    const principal = context.get('principal');
    const [proven, named] = [
      identify(context.req),
      context.get('kit')?.accounts?.current(principal) ?? principal,
    ];
    return isAsBefore(first, proven) && isAsBefore(principal, named);
  } catch (error) {
    const isLost = isRefusal(error);
    if (isLost) context.get('logger').info({ err: error }, 'caller lost access');
    else context.get('logger').warn({ err: error }, 'failed to check access; retrying');
    return !isLost;
  }
}

function isAsBefore(before: Principal, now: Principal): boolean {
  return before.id === now.id && atMost(before, roleOf(now)) === before;
}

/** Without a header that names somebody, a service asks for nobody: it never lends its own rights. */
function handedOnPrincipal(request: HeaderReader): Principal {
  const header = request.header(principalHeader);
  const principal = readHandedOn(header ?? '');
  if (principal !== undefined) return principal;
  const nobody: Principal = { ...anonymous, via: ['a service'] };
  // Nobody can say what a header that cannot be read would have told of the words' origins.
  return header === undefined ? nobody : withOrigins(nobody, [{ kind: 'message', source: 'unknown' }]);
}

/** A cookie counts for our own pages only: browsers send it along for pages of other ports too. */
export function sessionsOf(request: HeaderReader): string[] {
  const cookies = request.header('cookie');
  if (cookies === undefined) return [];
  const site = request.header('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return [];
  return cookies
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie.startsWith(`${sessionCookie}=`))
    .map((cookie) => cookie.slice(sessionCookie.length + 1));
}

interface KeyEntry<Caller> {
  /** A blank or missing key counts as none and is left out. */
  key: string | undefined;
  caller: Caller;
}

export interface Keyring<Caller> {
  /** How many keys are set. */
  readonly size: number;
  /** Whose key it is; takes the same time whichever key matches, or none. */
  find(presented: string): Caller | undefined;
  readonly entries: readonly { caller: Caller; facts: KeyFacts }[];
}

/** What a service remembers of a key for those who look for weak spots. */
export interface KeyFacts {
  /** It can be guessed: it is short or has few different characters. */
  isWeak: boolean;
  /** Equal for equal keys. */
  digest: string;
}

const MIN_KEY_LENGTH = 20;
const MIN_DIFFERENT = 8;

export function keyFacts(key: string): KeyFacts {
  const isWeak = key.length < MIN_KEY_LENGTH || new Set(key).size < MIN_DIFFERENT;
  return { isWeak, digest: digestOf(key).toString('hex') };
}

/** Keeps only hashes of the keys. Of two callers with the same key the first has it. */
export function createKeyring<Caller>(entries: Iterable<KeyEntry<Caller>>): Keyring<Caller> {
  const keys = [...entries]
    .filter(({ key }) => key !== undefined && key.trim() !== '')
    .map(({ key = '', caller }) => ({ digest: digestOf(key), facts: keyFacts(key.trim()), caller }));
  return {
    size: keys.length,
    entries: keys,
    find(presented) {
      const digest = digestOf(presented);
      let found: { caller: Caller } | undefined;
      for (const entry of keys) {
        const matches = timingSafeEqual(entry.digest, digest);
        found = matches && found === undefined ? entry : found;
      }
      return found?.caller;
    },
  };
}

/** Equal lengths for the comparison, whatever the length of the key. */
function digestOf(key: string): Buffer {
  return hash('sha256', key.trim(), 'buffer');
}

export interface SignInContext {
  /** The page that a browser sees after signing in. */
  homePath: string;
  /** By which others reach the service; the address of the request when not given. */
  publicUrl: string | undefined;
  logger: Logger;
}

/** Another place where people sign in to the pages, such as an OpenID Connect provider. */
export interface SignInProvider {
  /** As the button calls it. */
  readonly name: string;
  /** Where the button leads; takes the page to come back to as `return`. */
  readonly loginPath: string;
  /** Where a browser signs out there as well; undefined where that is not offered. */
  signOutUrl(back: string): Promise<string | undefined>;
  /** Adds its routes. */
  mount(app: Hono<AppEnv>, context: SignInContext): void;
}
