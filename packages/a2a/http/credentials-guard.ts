import { type AppEnv, createKeyring, refuseForeignName, tryKeys } from '@trunkline/http';
import { type Principal, principalHeader, withOrigins } from '@trunkline/identity';
import type { Context, MiddlewareHandler } from 'hono';
import { principalExtension } from '../protocol/principal-extension.ts';
import { declaredExtensions } from './stream.ts';

/** What a caller must show. A blank value counts as unset; with none set everyone may call. */
export interface A2aCredentials {
  /** Expected as `Authorization: Bearer`. */
  bearer?: string;
  /** Expected as `X-API-Key`. */
  apiKey?: string;
  /** `all` (default): each one that is set must be shown. `any`: one of them is enough. */
  require?: 'all' | 'any';
}

/** The ways in, by the name the card gives them. */
export type SchemeName = 'bearer' | 'apiKey';

interface Scheme {
  name: SchemeName;
  presented(context: Context): string | undefined;
  opens(context: Context): boolean;
  challenge: string;
}

export interface CredentialsGuard {
  /** The schemes that are in force. */
  schemes: readonly SchemeName[];
  require: 'all' | 'any';
  /** Answers 401 to whoever does not show what is expected. */
  handler: MiddlewareHandler;
}

/** A caller with the token; the service knows no more about it. */
const tokenHolder: Principal = { kind: 'agent', id: 'a2a', via: [] };

/**
 * The operator, and whoever one of our services asks for, come in without the credentials. A service that asks for
 * nobody known comes in only where nobody needs them, or if its message will say for whom (`principalExtension`).
 */
export function createCredentialsGuard(
  credentials: A2aCredentials,
  closedBecause: () => string | undefined = () => undefined,
): CredentialsGuard {
  const { require = 'all' } = credentials;
  const schemes = [
    createScheme('bearer', credentials.bearer, bearerToken, 'Bearer'),
    createScheme(
      'apiKey',
      credentials.apiKey,
      (context) => context.req.header('x-api-key'),
      'ApiKey header="X-API-Key"',
    ),
  ].filter((scheme) => scheme !== undefined);
  const isOpen = (context: Context) =>
    require === 'all'
      ? schemes.every((scheme) => scheme.opens(context))
      : schemes.some((scheme) => scheme.opens(context));
  return {
    schemes: schemes.map(({ name }) => name),
    require,
    // Not async, as a promise that is returned from an async function takes three turns of the queue.
    handler: (context: Context<AppEnv>, next) => {
      const principal = context.get('principal');
      if (schemes.length === 0) refuseForeignName(context);
      if (principal.kind !== 'anonymous') return next();
      const reason = schemes.length === 0 ? closedBecause() : undefined;
      if (schemes.length === 0 && reason === undefined) return next();
      if (saysInside(context, principal) && (reason !== undefined || !isOpen(context))) {
        context.set('awaitsPrincipal', true);
        return next();
      }
      if (reason !== undefined) return Promise.resolve(refusal(context, reason, schemes));
      const shown = schemes.flatMap((scheme) => scheme.presented(context)?.trim() || []);
      if (!tryKeys(context, shown, () => isOpen(context) || undefined))
        return Promise.resolve(refusal(context, refusalDetail(principal), schemes));
      // A service may hand on nobody known and the credentials: its words stay drawn from what the header says.
      context.set('principal', withOrigins(tokenHolder, principal.origins));
      return next();
    },
  };
}

/** Whether one of our services asks, no header says for whom, and the message is announced to do so. */
function saysInside(context: Context, { via }: Principal): boolean {
  const isService = via.length > 0 && context.req.header(principalHeader) === undefined;
  return isService && declaredExtensions(context).includes(principalExtension);
}

function createScheme(
  name: SchemeName,
  expected: string | undefined,
  presented: (context: Context) => string | undefined,
  challenge: string,
): Scheme | undefined {
  const keyring = createKeyring([{ key: expected, caller: true }]);
  if (keyring.size === 0) return undefined;
  return { name, challenge, presented, opens: (context) => keyring.find(presented(context) ?? '') === true };
}

function bearerToken(context: Context): string | undefined {
  return /^bearer +(\S+) *$/i.exec(context.req.header('authorization') ?? '')?.[1];
}

function refusalDetail({ via }: Principal): string {
  return via.length === 0
    ? 'missing or wrong credentials'
    : `${via.join(', then ')} asks for somebody who showed no key; this service needs one`;
}

/** In every form that a caller of this endpoint may look for. */
function refusal(context: Context, detail: string, schemes: readonly Scheme[]): Response {
  const challenge = schemes.map((scheme) => scheme.challenge).join(', ') || 'Bearer';
  const isRpc = context.req.path.endsWith('/a2a');
  const body = isRpc
    ? { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Unauthorized' }, detail }
    : { error: { code: 401, status: 'UNAUTHENTICATED', message: detail, details: [] }, detail };
  return Response.json(body, { status: 401, headers: { 'www-authenticate': challenge } });
}
