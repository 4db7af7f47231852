import { createKeyring, refuseForeignPage } from '@trunkline/http';
import type { Context, MiddlewareHandler } from 'hono';

/** What a caller must show. A blank value counts as unset; with none set everyone may call. */
export interface A2aCredentials {
  /** Expected as `Authorization: Bearer`. */
  bearer?: string;
  /** Expected as `X-API-Key`. */
  apiKey?: string;
  /** Opens too, as either of them, whatever else is set; by itself it asks for nothing. */
  family?: string | undefined;
  /** `all` (default): each one that is set must be shown. `any`: one of them is enough. */
  require?: 'all' | 'any';
}

/** The ways in, by the name the card gives them. */
export type SchemeName = 'bearer' | 'apiKey';

interface Scheme {
  name: SchemeName;
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

export function createCredentialsGuard(
  credentials: A2aCredentials,
  allowedOrigins: readonly string[] = [],
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
  const relatives = createKeyring([{ key: credentials.family, caller: true }]);
  const isRelated = (context: Context) =>
    [bearerToken(context), context.req.header('x-api-key')].some((key) => relatives.find(key ?? '') === true);
  const isOpen = (context: Context) =>
    require === 'all'
      ? schemes.every((scheme) => scheme.opens(context))
      : schemes.some((scheme) => scheme.opens(context));
  return {
    schemes: schemes.map(({ name }) => name),
    require,
    handler: async (context, next) => {
      if (schemes.length === 0) refuseForeignPage(context, allowedOrigins);
      if (schemes.length === 0 || isOpen(context) || isRelated(context)) return next();
      return refusal(context, schemes.map(({ challenge }) => challenge).join(', '));
    },
  };
}

function createScheme(
  name: SchemeName,
  expected: string | undefined,
  presented: (context: Context) => string | undefined,
  challenge: string,
): Scheme | undefined {
  const keyring = createKeyring([{ key: expected, caller: true }]);
  if (keyring.size === 0) return undefined;
  return { name, challenge, opens: (context) => keyring.find(presented(context) ?? '') === true };
}

function bearerToken(context: Context): string | undefined {
  return /^bearer +(\S+) *$/i.exec(context.req.header('authorization') ?? '')?.[1];
}

/** In every form that a caller of this endpoint may look for. */
function refusal(context: Context, challenge: string): Response {
  const detail = 'missing or wrong credentials';
  const isRpc = context.req.path.endsWith('/a2a');
  const body = isRpc
    ? { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Unauthorized' }, detail }
    : { error: { code: 401, status: 'UNAUTHENTICATED', message: detail, details: [] }, detail };
  return Response.json(body, { status: 401, headers: { 'www-authenticate': challenge } });
}
